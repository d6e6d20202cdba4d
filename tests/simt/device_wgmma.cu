// Products of a warpgroup. The layouts are described here a second time, from the tables and figures of the
// PTX ISA; nothing is shared with the wrapper or the executor's code.
// Above 400 lines because each wrong program stands beside the right one that it differs from.
#include <rondo/kernels/core/tensor_map.h>
#include <simt/narrow_float.h>
#include <rondo/kernels/core/ptx/bulk_copy.cuh>
#include <rondo/kernels/core/ptx/wgmma.cuh>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "device_testing.h"

using namespace simt_test;
using rondo::ptx::MatrixSwizzle;
using rondo::ptx::Tf32;
using rondo::ptx::WgmmaOptions;
namespace ptx = rondo::ptx;

namespace {

std::string line(int number) { return place_text("device_wgmma.cu", number); }

template <class Element>
constexpr int kBytes = std::is_same_v<Element, Tf32> ? 4 : 2;
template <class Element>
constexpr int kSteps = 32 / kBytes<Element>;

template <class Element>
uint32_t encoded(float x) {
  if constexpr (std::is_same_v<Element, Tf32>) return std::bit_cast<uint32_t>(x) | 0x1FFF;  // ignored bits
  if constexpr (std::is_same_v<Element, __nv_bfloat16>) return simt::Bfloat16Format::from_float(x);
  return simt::HalfFormat::from_float(x);
}

// Figures "D fragment layout" and "A fragment layout": the row and column of a register of a thread.
struct At {
  int row, column;
};
At d_of(int thread, int i) {
  const int warp = thread >> 5, lane = thread & 31;
  return {16 * warp + (lane >> 2) + ((i & 2) ? 8 : 0), 8 * (i >> 2) + 2 * (lane & 3) + (i & 1)};
}
At a_of(int thread, int element, bool tf32) {  // element: of all registers
  const int warp = thread >> 5, lane = thread & 31, first = 16 * warp + (lane >> 2);
  if (tf32) return {first + (element & 1 ? 8 : 0), (lane & 3) + (element & 2 ? 4 : 0)};
  return {first + (element & 2 ? 8 : 0), 2 * (lane & 3) + (element & 1) + (element & 4 ? 8 : 0)};
}

// An operand in shared memory: atoms of 8 groups of `lines` lines of 16 bytes ("Various combinations of
// swizzling mode, leading dimension and swizzle-atom layout"). Along k: a group is a row i, and its lines are
// along k. Along i: a group is one k, and its lines are along i. Line c of group g is at line c ^ (g * lines
// / 8 % lines) of the group.
struct Layout {
  MatrixSwizzle swizzle;
  bool along_i;
  int lines() const {
    return swizzle == MatrixSwizzle::bytes128  ? 8
           : swizzle == MatrixSwizzle::bytes64 ? 4
           : swizzle == MatrixSwizzle::bytes32 ? 2
                                               : 1;
  }
  // The distances of atoms: along the groups, and along the lines.
  unsigned group_atoms = 0, line_atoms = 0;

  size_t offset(int i, int k, int bytes) const {
    const int group = along_i ? k : i, element = along_i ? i : k, line_of = element * bytes / 16;
    const int at = group % 8 * lines() + (line_of % lines() ^ group % 8 * lines() / 8 % lines());
    return group / 8 * group_atoms + line_of / lines() * line_atoms + 16 * at + element * bytes % 16;
  }
  // "Strides": the leading dimension offset is between atoms along the lines, the stride dimension offset
  // between those along the groups; but without a swizzle and along i the other way around.
  ptx::SharedMatrix matrix(const void* start) const {
    if (lines() == 1 && along_i) return {start, group_atoms, line_atoms, swizzle};
    return {start, line_atoms, group_atoms, swizzle};
  }
};

struct Problem {
  int n, k;
  std::vector<float> a, b, d;  // [64][k], [k][n], [64][n]
  Problem(int columns, int steps, int seed) : n(columns), k(steps), a(64 * k), b(k * n), d(64 * n) {
    std::mt19937 random(static_cast<unsigned>(seed));
    for (std::vector<float>* all : {&a, &b, &d})
      for (float& value : *all) value = static_cast<float>(static_cast<int>(random() % 17) - 8);
  }
  float expected(int row, int column, bool add, float sign) const {
    float sum = 0;
    for (int l = 0; l < k; ++l) sum += a[row * k + l] * b[l * n + column];
    return sign * sum + (add ? d[row * n + column] : 0);
  }
};

template <class Element>
void put(char* to, float value) {
  const uint32_t bits = encoded<Element>(value);
  std::memcpy(to, &bits, kBytes<Element>);
}

// d of one product, or of two that follow each other in k (k = 2 kSteps), each element at its place.
template <class Element, int N, WgmmaOptions options>
std::vector<float> multiplied(const Problem& p, Layout a, Layout b, bool a_in_registers, bool add) {
  constexpr int kElement = kBytes<Element>, kK = kSteps<Element>;
  std::vector<float> result(64 * N);
  constexpr size_t kB = 16384;
  run_ok({1, 128, 65536}, [&] {
    const int t = static_cast<int>(threadIdx.x);
    char* const memory = &shared<char>();
    if (t == 0) {
      for (int k = 0; k < p.k; ++k) {
        for (int i = 0; i < 64; ++i) put<Element>(memory + a.offset(i, k, kElement), p.a[i * p.k + k]);
        for (int j = 0; j < N; ++j) put<Element>(memory + kB + b.offset(j, k, kElement), p.b[k * N + j]);
      }
      ptx::async_proxy_fence();
    }
    __syncthreads();
    float d[N / 2];
    for (int i = 0; i < N / 2; ++i) d[i] = p.d[d_of(t, i).row * N + d_of(t, i).column];
    unsigned of_a[2][4] = {};  // changed before the fence, and not before the wait
    for (int step = 0; step < p.k / kK && a_in_registers; ++step)
      for (int e = 0; e < 16 / kElement; ++e) {
        const At at = a_of(t, e, kElement == 4);
        of_a[step][e * kElement / 4] |= encoded<Element>(p.a[at.row * p.k + step * kK + at.column])
                                        << e * kElement % 4 * 8;
      }
    ptx::wgmma_fence();
    for (int k = 0; k < p.k; k += kK) {
      // Where the steps from k on begin; inside an atom along k.
      const auto from = [&](const Layout& layout) {
        return layout.along_i ? k / 8 * static_cast<int>(layout.group_atoms)
                              : k * kElement / (16 * layout.lines()) * static_cast<int>(layout.line_atoms) +
                                    k * kElement % (16 * layout.lines());
      };
      const uint64_t b_descriptor = ptx::advanced(ptx::descriptor(b.matrix(memory + kB)), from(b));
      if (a_in_registers) {
        constexpr WgmmaOptions kOptions = {options.negate_a, options.negate_b, false, options.transpose_b};
        ptx::wgmma<Element, N, kOptions>(d, of_a[k / kK], b_descriptor, add || k != 0);
      } else {
        ptx::wgmma<Element, N, options>(d, ptx::advanced(ptx::descriptor(a.matrix(memory)), from(a)),
                                        b_descriptor, add || k != 0);
      }
    }
    ptx::wgmma_commit();
    ptx::wgmma_wait<0>();
    for (int i = 0; i < N / 2; ++i) result[d_of(t, i).row * N + d_of(t, i).column] = d[i];
  });
  return result;
}

template <class Element, int N, WgmmaOptions options>
void check_layouts() {
  constexpr MatrixSwizzle kAll[] = {MatrixSwizzle::none, MatrixSwizzle::bytes32, MatrixSwizzle::bytes64,
                                    MatrixSwizzle::bytes128};
  const float sign = (options.negate_a ? -1.0f : 1.0f) * (options.negate_b ? -1.0f : 1.0f);
  int seed = N;
  for (const bool late : {false, true})
    for (const MatrixSwizzle swizzle_a : kAll)
      for (const MatrixSwizzle swizzle_b : kAll)
        for (const bool in_registers : {false, true}) {
          if (in_registers && (options.transpose_a || swizzle_a != MatrixSwizzle::none)) continue;
          const bool add = ++seed % 2;
          Layout a{swizzle_a, options.transpose_a}, b{swizzle_b, options.transpose_b};
          // Atoms of 128 bytes to 1 KiB, at distances with gaps.
          for (Layout* layout : {&a, &b}) {
            const auto atom = static_cast<unsigned>(128 * layout->lines());
            const int lines_of_all = layout->along_i ? (layout == &a ? 64 : N) * kBytes<Element> / 16 : 4;
            const int atoms = (lines_of_all + layout->lines() - 1) / layout->lines();
            layout->line_atoms = atom;
            layout->group_atoms = atom * (atoms + (layout == &a ? 0 : 1));
          }
          const Problem p(N, 2 * kSteps<Element>, seed);
          simt::set_late_copies(late);
          const std::vector<float> d = multiplied<Element, N, options>(p, a, b, in_registers, add);
          simt::set_late_copies(false);
          for (int row = 0; row < 64; ++row)
            for (int column = 0; column < N; ++column)
              ASSERT_EQ(d[row * N + column], p.expected(row, column, add, sign))
                  << "row " << row << ", column " << column << ", n " << N << ", late " << late
                  << ", swizzles " << static_cast<int>(swizzle_a) << " " << static_cast<int>(swizzle_b)
                  << ", registers " << in_registers;
        }
}

constexpr WgmmaOptions kPlain = {};

TEST(Wgmma, Tf32) {
  check_layouts<Tf32, 8, kPlain>();
  check_layouts<Tf32, 176, WgmmaOptions{.negate_a = true}>();
}
TEST(Wgmma, Bfloat16) {
  check_layouts<__nv_bfloat16, 24, kPlain>();
  check_layouts<__nv_bfloat16, 64, WgmmaOptions{.negate_b = true}>();
  check_layouts<__nv_bfloat16, 64, WgmmaOptions{.transpose_a = true}>();
  check_layouts<__nv_bfloat16, 128, WgmmaOptions{.transpose_b = true}>();
}
TEST(Wgmma, Float16) {
  check_layouts<__half, 256, WgmmaOptions{.transpose_a = true, .transpose_b = true}>();
  check_layouts<__half, 16, WgmmaOptions{.negate_a = true, .negate_b = true}>();
}

// The sum of a product is that of simt/tensor_core.h: small terms are cut before they are added.
TEST(Wgmma, SumsAreTruncated) {
  Problem p(8, 16, 1);
  for (std::vector<float>* all : {&p.a, &p.b, &p.d}) std::fill(all->begin(), all->end(), 0.0f);
  p.d[0] = 1;
  for (int k = 0; k < 3; ++k) p.a[k] = 0x1p-24f, p.b[k * 8] = 1;
  const Layout layout{MatrixSwizzle::bytes128, false, 1024, 1024};
  EXPECT_EQ((multiplied<Tf32, 8, kPlain>(p, layout, layout, false, true)[0]), 1);
  p.d[0] = 0;
  EXPECT_EQ((multiplied<Tf32, 8, kPlain>(p, layout, layout, false, true)[0]), 0x1.8p-23f);
}

// ---- Programs that are wrong on purpose

struct Result {
  simt::Fault fault;
  bool right = true, any_nan = false;
};

// Threads write zeros as operands, and one of them writes another value at some time.
enum class Written { before_fence, after_fence, before_wait, fenced_before_wait };
simt::Fault written_operands(Written when) {
  return run({1, 128, 16384}, [=] {
    const int t = static_cast<int>(threadIdx.x);
    unsigned* const words = &shared<unsigned>();
    constexpr int kChanged = 2048 + 5;
    const bool changes = t == 127;  // the last thread: a fence of any later one would show it
    for (int i = t; i < 4096; i += 128)
      if (i != kChanged) words[i] = 0;
    if (changes) words[kChanged] = 0;
    const auto change = [&] {
      if (changes) words[kChanged] = 1;
    };
    if (when == Written::before_fence) change();
    ptx::async_proxy_fence();
    if (when == Written::after_fence) change();
    __syncthreads();
    float d[4];
    ptx::wgmma_fence();
    ptx::wgmma<Tf32, 8>(d, ptx::descriptor({words, 128, 256, MatrixSwizzle::none}),
                        ptx::descriptor({words + 2048, 128, 256, MatrixSwizzle::none}), false);
    ptx::wgmma_commit();
    if (when == Written::before_wait || when == Written::fenced_before_wait) change();
    if (when == Written::fenced_before_wait) ptx::async_proxy_fence();
    ptx::wgmma_wait<0>();
  });
}
constexpr int kWrittenLine = __LINE__ - 8;

TEST(Wgmma, AMissingProxyFenceIsNamedInLateMode) {
  NOT_UNDER_CHECK();
  EXPECT_EQ(written_operands(Written::after_fence).error, cudaSuccess);  // not detected
  LateCopies late;
  EXPECT_EQ(written_operands(Written::before_fence).error, cudaSuccess);
  expect_fault(written_operands(Written::after_fence),
               {"wgmma.mma_async at ", line(kWrittenLine),
                "reads b from byte 8212 of shared memory, which a thread wrote, and no fence.proxy.async"});
}

TEST(Wgmma, AnOperandThatIsWrittenBeforeTheWaitIsNamed) {
  NOT_UNDER_CHECK();
  for (const bool late : {false, true}) {
    simt::set_late_copies(late);
    for (const Written when : {Written::before_wait, Written::fenced_before_wait})
      expect_fault(written_operands(when),
                   {"wgmma.mma_async at ", line(kWrittenLine),
                    "reads b from byte 8212 of shared memory, which was written before the wait"});
  }
  simt::set_late_copies(false);
}

// The product of operands that tensor copies write with the swizzle `loaded`. `rewrites`: threads then
// exchange the lines, so that the operands have the swizzle of 128 bytes.
Result product_of_boxes(rondo::Swizzle loaded, MatrixSwizzle read, bool rewrites = false) {
  const Problem p(8, 8, 1);
  alignas(16) static float a[64][32], b[8][32];
  for (int k = 0; k < 8; ++k) {
    for (int i = 0; i < 64; ++i) a[i][k] = p.a[i * 8 + k];
    for (int j = 0; j < 8; ++j) b[j][k] = p.b[k * 8 + j];
  }
  CUtensorMap a_map, b_map;
  const auto map = [&](CUtensorMap* to, float* from, int rows) {
    rondo::throw_if_error(rondo::make_tensor_map(to, {.data = from,
                                                      .rank = 2,
                                                      .size = {32, rows},
                                                      .stride = {0, 128},
                                                      .box = {32, rows},
                                                      .swizzle = loaded}));
  };
  map(&a_map, a[0], 64);
  map(&b_map, b[0], 8);
  std::atomic<bool> right{true};
  Result all;
  all.fault = run({1, 128, 16384}, [&] {
    char* const memory = &shared<char>();
    const int t = static_cast<int>(threadIdx.x);
    auto* const barrier = reinterpret_cast<ptx::Mbarrier*>(memory + 12288);
    if (t == 0) {
      ptx::mbarrier_init(barrier, 1);
      ptx::mbarrier_init_fence();
      ptx::mbarrier_arrive_expect_tx(barrier, 8192 + 1024);
      ptx::tma_load(memory, a_map, {0, 0}, barrier);
      ptx::tma_load(memory + 8192, b_map, {0, 0}, barrier);
    }
    __syncthreads();
    ptx::mbarrier_wait(barrier, 0);
    if (rewrites && t < 72) {  // rows of a, then of b
      char row[128];
      std::memcpy(row, memory + 128 * t, 128);
      for (int line = 0; line < 8; ++line)
        std::memcpy(memory + 128 * t + 16 * (line ^ t % 8), row + 16 * line, 16);
      ptx::async_proxy_fence();
    }
    __syncthreads();
    float d[4];
    ptx::wgmma_fence();
    ptx::wgmma<Tf32, 8>(d, ptx::descriptor({memory, 0, 1024, read}),
                        ptx::descriptor({memory + 8192, 0, 1024, read}), false);
    ptx::wgmma_commit();
    ptx::wgmma_wait<0>();
    for (int i = 0; i < 4; ++i)
      if (d[i] != p.expected(d_of(t, i).row, d_of(t, i).column, false, 1)) right = false;
  });
  all.right = right;
  return all;
}
constexpr int kBoxesLine = __LINE__ - 10;

TEST(Wgmma, ASwizzleThatTheDescriptorDoesNotShareIsNamed) {
  NOT_UNDER_CHECK();
  using rondo::Swizzle;
  for (const bool late : {false, true}) {
    simt::set_late_copies(late);
    for (const bool rewrites : {false, true}) {
      const Result right =
          product_of_boxes(rewrites ? Swizzle::none : Swizzle::bytes128, MatrixSwizzle::bytes128, rewrites);
      EXPECT_EQ(right.fault.error, cudaSuccess) << right.fault.message;
      EXPECT_TRUE(right.right);
    }
    expect_fault(product_of_boxes(Swizzle::none, MatrixSwizzle::bytes128).fault,
                 {"wgmma.mma_async at ", line(kBoxesLine), "reads b with a swizzle of 128 bytes",
                  "the tensor copy at ", line(kBoxesLine - 14), "wrote it with no swizzle"});
    expect_fault(product_of_boxes(Swizzle::bytes128, MatrixSwizzle::bytes64).fault,
                 {line(kBoxesLine), "reads b with a swizzle of 64 bytes", line(kBoxesLine - 14),
                  "wrote it with a swizzle of 128 bytes"});
  }
  simt::set_late_copies(false);
}

enum class Flaw {
  none,
  early_release,
  early_read,
  read_behind_the_wait_for_another,
  no_commit,
  no_wait,
  no_fence,
  changed_without_fence,
  early_write
};

// A product of 64 x 8 by `tiles` tiles of 8 steps; one producer thread, two slots, one product in flight.
Result pipeline(Flaw flaw, int tiles = 6) {
  const Problem p(8, 8 * tiles, 7);
  std::vector<float> a_memory(64 * p.k + 4), b_memory(8 * p.k + 4);
  const auto aligned = [](std::vector<float>& v) {
    return v.data() + (16 - reinterpret_cast<uintptr_t>(v.data()) % 16) % 16 / 4;
  };
  float* const a = aligned(a_memory);
  float* const b = aligned(b_memory);
  std::copy(p.a.begin(), p.a.end(), a);
  for (int k = 0; k < p.k; ++k)
    for (int j = 0; j < 8; ++j) b[j * p.k + k] = p.b[k * 8 + j];
  CUtensorMap a_map, b_map;
  const auto map = [&](CUtensorMap* to, float* from, int rows) {
    rondo::throw_if_error(rondo::make_tensor_map(to, {.data = from,
                                                      .rank = 2,
                                                      .size = {p.k, rows},
                                                      .stride = {0, 4 * p.k},
                                                      .box = {8, rows},
                                                      .swizzle = rondo::Swizzle::bytes32}));
  };
  map(&a_map, a, 64);
  map(&b_map, b, 8);
  constexpr int kSlots = 2;
  struct Shared {
    alignas(1024) char a[kSlots][2048];
    char b[kSlots][256];
    ptx::Mbarrier full[kSlots], empty[kSlots];
  };
  std::vector<float> result(64 * 8);
  Result all;
  all.fault = run({1, 160, sizeof(Shared)}, [&] {
    Shared& s = shared<Shared>();
    const int t = static_cast<int>(threadIdx.x);
    if (t == 0) {
      for (int i = 0; i < kSlots; ++i) {
        ptx::mbarrier_init(&s.full[i], 1);
        ptx::mbarrier_init(&s.empty[i], 128);
      }
      ptx::mbarrier_init_fence();
    }
    __syncthreads();
    if (t >= 128) {
      if (t != 128) return;
      for (int tile = 0; tile < tiles; ++tile) {
        const int slot = tile % kSlots;
        ptx::mbarrier_wait(&s.empty[slot], (tile / kSlots & 1) ^ 1);
        ptx::mbarrier_arrive_expect_tx(&s.full[slot], 2048 + 256);
        ptx::tma_load(s.a[slot], a_map, {8 * tile, 0}, &s.full[slot]);
        ptx::tma_load(s.b[slot], b_map, {8 * tile, 0}, &s.full[slot]);
      }
      return;
    }
    float d[4], seen = 0;
    for (int tile = 0; tile < tiles; ++tile) {
      const int slot = tile % kSlots;
      ptx::mbarrier_wait(&s.full[slot], tile / kSlots & 1);
      if (flaw != Flaw::no_fence && flaw != Flaw::changed_without_fence) ptx::wgmma_fence();
      if (flaw == Flaw::changed_without_fence && tile == 0) ptx::wgmma_fence();
      ptx::wgmma<Tf32, 8>(d, ptx::descriptor({s.a[slot], 0, 256, MatrixSwizzle::bytes32}),
                          ptx::descriptor({s.b[slot], 0, 256, MatrixSwizzle::bytes32}), tile != 0);
      if (flaw != Flaw::no_commit) ptx::wgmma_commit();
      if (flaw == Flaw::early_release) ptx::mbarrier_arrive(&s.empty[slot]);
      if (flaw == Flaw::early_read && tile == 1) seen = d[3];
      if (flaw == Flaw::early_write && tile == 1) d[2] = 0;
      if (flaw == Flaw::changed_without_fence) {
        ptx::wgmma_wait<0>();
        d[0] *= 2;
      }
      if (flaw == Flaw::early_release) {
        ptx::wgmma_wait<1>();
      } else if (flaw != Flaw::no_wait) {
        // The product before this one is done: its slot is free.
        ptx::wgmma_wait<1>();
        if (flaw == Flaw::read_behind_the_wait_for_another && tile == 1) seen = d[3];
        if (tile > 0) ptx::mbarrier_arrive(&s.empty[(tile - 1) % kSlots]);
      } else if (tile > 0) {
        ptx::mbarrier_arrive(&s.empty[(tile - 1) % kSlots]);
      }
    }
    if (flaw != Flaw::no_wait) ptx::wgmma_wait<0>();
    if (flaw == Flaw::early_read || flaw == Flaw::read_behind_the_wait_for_another) d[3] = seen;
    for (int i = 0; i < 4; ++i) result[d_of(t, i).row * 8 + d_of(t, i).column] = d[i];
  });
  for (int row = 0; row < 64; ++row)
    for (int column = 0; column < 8; ++column) {
      all.right = all.right && result[row * 8 + column] == p.expected(row, column, false, 1);
      all.any_nan = all.any_nan || std::isnan(result[row * 8 + column]);
    }
  return all;
}
constexpr int kProductLine = __LINE__ - 32;

TEST(Wgmma, PipelineIsRightInBothModes) {
  for (const bool late : {false, true})
    for (uint64_t seed = 0; seed < 4; ++seed) {
      Seed scope(seed);
      simt::set_late_copies(late);
      const Result result = pipeline(Flaw::none);
      simt::set_late_copies(false);
      EXPECT_EQ(result.fault.error, cudaSuccess) << result.fault.message;
      EXPECT_TRUE(result.right);
    }
}

TEST(Wgmma, ASlotThatIsFilledBeforeItsProductIsDoneIsNamed) {
  NOT_UNDER_CHECK();
  for (const bool late : {false, true}) {
    simt::set_late_copies(late);
    expect_fault(pipeline(Flaw::early_release).fault,
                 {"cp.async.bulk.tensor at ", line(kProductLine - 11),
                  "overwrites a of the wgmma.mma_async at ", line(kProductLine), "which was not waited for"});
  }
  simt::set_late_copies(false);
}

TEST(Wgmma, AccumulatorsThatAreReadEarlyAreNanInLateMode) {
  NOT_UNDER_CHECK();
  LateCopies late;
  for (const Flaw flaw : {Flaw::early_read, Flaw::read_behind_the_wait_for_another})
    EXPECT_TRUE(pipeline(flaw).any_nan) << static_cast<int>(flaw);
}

TEST(Wgmma, AccumulatorsThatAreWrittenEarlyAreAFaultInLateMode) {
  NOT_UNDER_CHECK();
  LateCopies late;
  expect_fault(pipeline(Flaw::early_write).fault,
               {"wgmma.mma_async at ", line(kProductLine), "had accumulator register 2 written by thread 0"});
}

TEST(Wgmma, AProductThatIsNotCommittedOrNotWaitedForIsNamed) {
  NOT_UNDER_CHECK();
  for (const bool late : {false, true}) {
    simt::set_late_copies(late);
    for (const Flaw flaw : {Flaw::no_commit, Flaw::no_wait}) {
      const simt::Fault fault = pipeline(flaw, 2).fault;
      expect_fault(fault,
                   {"wgmma.mma_async at ", line(kProductLine), "is still pending when its thread exits"});
    }
  }
  simt::set_late_copies(false);
}

TEST(Wgmma, AMissingFenceIsNamed) {
  NOT_UNDER_CHECK();
  for (const Flaw flaw : {Flaw::no_fence, Flaw::changed_without_fence})
    expect_fault(pipeline(flaw).fault,
                 {"wgmma.mma_async at ", line(kProductLine), "requires a preceding wgmma.fence"});
}

// Two products with a in registers, the second one with other values. b is the identity, so d is their sum.
enum class RegistersOfA { right, changed_before_wait, changed_without_fence, changed_after_fence, own_array };
Result sum_of_two(RegistersOfA flaw) {
  Result all;
  const auto value = [](int product, const At& at) {
    return static_cast<float>((product + 1) * (8 * at.row + at.column));
  };
  const Layout layout{MatrixSwizzle::none, false, 256, 128};
  const auto changer = [](int t) { return t == 70; };
  all.fault = run({1, 128, 4096}, [&] {
    char* const memory = &shared<char>();
    const int t = static_cast<int>(threadIdx.x);
    if (t < 64) put<Tf32>(memory + layout.offset(t / 8, t % 8, 4), t / 8 == t % 8 ? 1.0f : 0.0f);
    ptx::async_proxy_fence();
    __syncthreads();
    const uint64_t b = ptx::descriptor(layout.matrix(memory));
    float d[4];
    unsigned a[4], second[4];
    const auto load = [&](unsigned(&to)[4], int product) {
      for (int i = 0; i < 4; ++i) to[i] = std::bit_cast<uint32_t>(value(product, a_of(t, i, true)));
    };
    load(a, 0);
    load(second, 1);
    ptx::wgmma_fence();
    ptx::wgmma<Tf32, 8>(d, a, b, false);
    ptx::wgmma_commit();
    if (flaw == RegistersOfA::own_array) {
      ptx::wgmma<Tf32, 8>(d, second, b, true);  // while the first one is in flight
    } else {
      if (flaw == RegistersOfA::changed_before_wait && changer(t)) a[2] = 0;
      ptx::wgmma_wait<0>();
      if (flaw == RegistersOfA::changed_after_fence) ptx::wgmma_fence();
      load(a, 1);
      if (flaw == RegistersOfA::right) ptx::wgmma_fence();
      ptx::wgmma<Tf32, 8>(d, a, b, true);
    }
    ptx::wgmma_commit();
    ptx::wgmma_wait<0>();
    for (int i = 0; i < 4; ++i) {
      const At at = d_of(t, i);
      if (d[i] != value(0, at) + value(1, at)) all.right = false;
    }
  });
  return all;
}
constexpr int kFirstLine = __LINE__ - 21, kSecondLine = kFirstLine + 10;

TEST(Wgmma, RegistersOfAMayChangeBetweenTheWaitAndTheFence) {
  for (const bool late : {false, true})
    for (const RegistersOfA right : {RegistersOfA::right, RegistersOfA::own_array}) {
      simt::set_late_copies(late);
      const Result result = sum_of_two(right);
      simt::set_late_copies(false);
      EXPECT_EQ(result.fault.error, cudaSuccess) << result.fault.message;
      EXPECT_TRUE(result.right);
    }
}

TEST(Wgmma, RegistersOfAThatChangeBeforeTheWaitAreNamed) {
  NOT_UNDER_CHECK();
  for (const bool late : {false, true}) {
    simt::set_late_copies(late);
    expect_fault(sum_of_two(RegistersOfA::changed_before_wait).fault,
                 {"wgmma.mma_async at ", line(kFirstLine),
                  "reads register 2 of a, which thread 70 of the warpgroup changed before the wait"});
  }
  simt::set_late_copies(false);
}

TEST(Wgmma, RegistersOfAThatChangeWithoutAFenceAreNamed) {
  NOT_UNDER_CHECK();
  for (const bool late : {false, true}) {
    simt::set_late_copies(late);
    for (const RegistersOfA flaw : {RegistersOfA::changed_without_fence, RegistersOfA::changed_after_fence})
      expect_fault(sum_of_two(flaw).fault,
                   {"wgmma.mma_async at ", line(kSecondLine),
                    "needs a wgmma.fence first: thread 0 of the warpgroup changed register 1 of a"});
  }
  simt::set_late_copies(false);
}

template <class Body>
simt::Fault product_by(unsigned threads, Body body) {
  return run({1, threads, 4096}, [&] {
    float d[4] = {};
    ptx::wgmma_fence();
    body(d, ptx::descriptor({&shared<char>(), 128, 256, MatrixSwizzle::none}));
    ptx::wgmma_commit();
    ptx::wgmma_wait<0>();
  });
}

TEST(Wgmma, AllThreadsOfAWarpgroupMustTakePart) {
  NOT_UNDER_CHECK();
  const auto product = [](float(&d)[4], uint64_t m) { ptx::wgmma<Tf32, 8>(d, m, m, false); };
  expect_fault(product_by(160, product),
               {"wgmma.mma_async at ", "needs the 128 threads of a warpgroup, and warpgroup 1 has 32"});
  expect_fault(
      product_by(128,
                 [&](float(&d)[4], uint64_t m) {
                   if (threadIdx.x != 77) product(d, m);
                 }),
      {"deadlock", "hreads 0-76, 78-127 wait in wgmma.mma_async of warpgroup 0, ", "1 of 128 have exited"});
  const simt::Fault other = product_by(128, [&](float(&d)[4], uint64_t m) {
    product(d, m);
    ptx::wgmma_commit();
    if (threadIdx.x < 64) ptx::wgmma_wait<0>();
    if (threadIdx.x >= 64) product(d, m);
  });
  expect_fault(other, {"is called while other threads of the warpgroup wait in wgmma."});
  expect_fault(product_by(128, [&](float(&d)[4], uint64_t m) { product(d, threadIdx.x == 9 ? m + 8 : m); }),
               {"differs between the threads 0 and 9 of the warpgroup"});
}

// A thread that exits leaves no fence and no group to the thread that has its stack next.
TEST(Wgmma, ThreadsThatDoNotMultiplyMayFenceAndCommit) {
  NOT_UNDER_CHECK();
  run_ok({1, 128, 4096}, [] {
    ptx::wgmma_fence();
    ptx::wgmma_commit();
  });
  const auto product = [](float(&d)[4], uint64_t m) { ptx::wgmma<Tf32, 8>(d, m, m, false); };
  EXPECT_EQ(product_by(128, product).error, cudaSuccess);
}

TEST(Wgmma, OperandsOutsideOfSharedMemoryAreNamed) {
  NOT_UNDER_CHECK();
  const auto outside = [](ptx::SharedMatrix matrix, bool is_b) {
    return product_by(128, [=](float(&d)[4], uint64_t m) {
      ptx::SharedMatrix in_shared = matrix;
      in_shared.start = &shared<char>();
      const uint64_t descriptor = ptx::descriptor(in_shared);
      ptx::wgmma<Tf32, 8>(d, is_b ? m : descriptor, is_b ? descriptor : m, false);
    });
  };
  expect_fault(outside({nullptr, 128, 1024, MatrixSwizzle::none}, false),
               {"element (32, k 0) of a is at byte 4096 of shared memory, which has 4096"},
               cudaErrorIllegalAddress);
  expect_fault(outside({nullptr, 4096, 256, MatrixSwizzle::none}, true),
               {"element (0, k 4) of b is at byte 4096"}, cudaErrorIllegalAddress);
  expect_fault(product_by(128, [](float(&d)[4],
                                  uint64_t m) { ptx::wgmma<Tf32, 8>(d, m, m | uint64_t{3} << 49, false); }),
               {"the executor has no base offset, and the descriptor of b has 3"});
}

}  // namespace
