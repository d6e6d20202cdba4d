#include "amx.h"

#include "../host/device_half.h"

#if defined(__x86_64__) && defined(__linux__)

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace simt {
namespace {

constexpr int kTileRows = 16, kTileSteps = 16, kTileColumns = 16;
constexpr int kNarrowColumns = 8;  // of the last tile of sums, where no more are left

// Intel 64 and IA-32 Architectures Software Developer's Manual, "Intel AMX and TILECFG".
struct TileConfiguration {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};
static_assert(sizeof(TileConfiguration) == 64);

// The registers: sums, a, b; and sums and b of kNarrowColumns columns. A row of b has pairs of steps.
enum Tile { kSums, kA, kB, kNarrowSums, kNarrowB };

constexpr TileConfiguration configuration() {
  TileConfiguration tiles;
  const auto set = [&](Tile tile, int rows, int row_bytes) {
    tiles.rows[tile] = static_cast<uint8_t>(rows);
    tiles.row_bytes[tile] = static_cast<uint16_t>(row_bytes);
  };
  set(kSums, kTileRows, kTileColumns * 4);
  set(kA, kTileRows, kTileSteps * 2);
  set(kB, kTileSteps / 2, kTileColumns * 4);
  set(kNarrowSums, kTileRows, kNarrowColumns * 4);
  set(kNarrowB, kTileSteps / 2, kNarrowColumns * 4);
  return tiles;
}

// Assembly, because the compilers' intrinsics need numbers of registers as literals, and those of g++ 12 do
// not tell it that they read memory.
template <Tile tile>
void load_tile(const void* rows, size_t step) {
  asm volatile("tileloadd (%0,%1), %%tmm%c2" ::"r"(rows), "r"(step), "i"(tile) : "memory");
}
template <Tile tile>
void store_tile(void* rows, size_t step) {
  asm volatile("tilestored %%tmm%c2, (%0,%1)" ::"r"(rows), "r"(step), "i"(tile) : "memory");
}

template <Tile sums, Tile b>
void add_product(float* d, int d_step, const uint32_t* b_pairs) {
  load_tile<sums>(d, static_cast<size_t>(d_step) * 4);
  load_tile<b>(b_pairs, kTileColumns * 4);
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(sums), "i"(kA), "i"(b));
  store_tile<sums>(d, static_cast<size_t>(d_step) * 4);
}

uint16_t narrowed(float value) { return static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16); }

std::string find_amx_problem() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kBfloat16 = 1u << 22, kTiles = 1u << 24;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d & kBfloat16) || !(d & kTiles))
    return "this processor has no AMX for bfloat16";
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, of Linux 5.16
  if (syscall(SYS_arch_prctl, kRequestPermission, kTileData) != 0)
    return std::string("Linux does not permit AMX: ") + std::strerror(errno);
  return "";
}

}  // namespace

const char* amx_problem() {
  static const std::string problem = find_amx_problem();
  return problem.empty() ? nullptr : problem.c_str();
}

void add_products_by_amx(int rows, int columns, float* d, int d_step, const float* a, const float* b,
                         int b_step) {
  static constexpr TileConfiguration kTiles = configuration();
  constexpr int kMostColumns = 256;
  static thread_local uint32_t pairs[kMostColumns / kTileColumns][kTileSteps / 2][kTileColumns];
  for (int j = 0; j < columns; ++j)
    for (int k = 0; k < kTileSteps / 2; ++k)
      pairs[j / kTileColumns][k][j % kTileColumns] =
          narrowed(b[2 * k * b_step + j]) | uint32_t{narrowed(b[(2 * k + 1) * b_step + j])} << 16;
  asm volatile("ldtilecfg %0" ::"m"(kTiles));
  for (int i = 0; i < rows; i += kTileRows) {
    uint16_t narrow[kTileRows * kTileSteps];
    for (int at = 0; at < kTileRows * kTileSteps; ++at) narrow[at] = narrowed(a[i * kTileSteps + at]);
    load_tile<kA>(narrow, kTileSteps * 2);
    for (int j = 0; j < columns; j += kTileColumns) {
      float* const to = d + i * d_step + j;
      if (columns - j >= kTileColumns)
        add_product<kSums, kB>(to, d_step, pairs[j / kTileColumns][0]);
      else
        add_product<kNarrowSums, kNarrowB>(to, d_step, pairs[j / kTileColumns][0]);
    }
  }
  asm volatile("tilerelease");  // so that a switch of threads saves no tiles
}

}  // namespace simt

#else

namespace simt {
const char* amx_problem() { return "AMX is used on x86-64 with Linux only"; }
void add_products_by_amx(int, int, float*, int, const float*, const float*, int) {}
}  // namespace simt

#endif
