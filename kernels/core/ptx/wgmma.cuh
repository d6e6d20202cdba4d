// wgmma: d (+)= a * b by a warpgroup, for a 64 x K matrix a and a K x N matrix b with fp32 sums;
// asynchronous. A warpgroup is 128 threads in four warps. K is 8 for tf32 and 16 for bf16 and fp16; N is a
// multiple of 8 up to 256. Needs sm_90a.
//
// Registers of thread 32 w + 4 g + t of the warpgroup. Source: PTX ISA, "Register Fragments for
// wgmma.mma_async.m64nNk8" and "... m64nNk16".
//
//   register                   row            column of d, k of a
//   d[4 j], d[4 j + 1]         16 w + g       8 j + 2 t, 8 j + 2 t + 1
//   d[4 j + 2], d[4 j + 3]     16 w + g + 8   8 j + 2 t, 8 j + 2 t + 1
//   a[0] of 16 bits, of tf32   16 w + g       2 t, 2 t + 1          t
//   a[1]                       16 w + g + 8   2 t, 2 t + 1          t
//   a[2]                       16 w + g       2 t + 8, 2 t + 9      t + 4
//   a[3]                       16 w + g + 8   2 t + 8, 2 t + 9      t + 4
//
// Shared memory. A SharedMatrix describes where the elements of an operand are. Let i be the row of a or the
// column of b, e the bytes of an element, a line 16 bytes (L = 16 / e elements), s the bytes of a swizzle and
// S = s / e. Offsets in bytes, before the swizzle exchanges lines by their address as in tensor_map.h:
//
//   contiguous along k, no swizzle   (i / 8) stride  + (i % 8) 16 + (k / L) leading + (k % L) e
//                       swizzle      (i / 8) stride  + (i % 8) s  + k e
//   contiguous along i, no swizzle   (i / L) stride  + (i % L) e  + (k / 8) leading + (k % 8) 16
//                       swizzle      (i / S) leading + (i % S) e  + (k / 8) stride  + (k % 8) s
//
// So a box of a tensor map whose rows have s bytes and are rows i is an operand with stride 8 s. The next K
// elements of a swizzled row begin 32 bytes further, inside the row. The matrix begins at a multiple of the
// swizzle's period: 256, 512 or 1024 bytes. tf32 is contiguous along k only.
//
//   wgmma_fence()                   before the first product, and after the registers of d or a were changed
//   wgmma<Element, N>(d, a, b, add) a: a descriptor or four registers; b: a descriptor. If !add, the old d is
//                                   not read. The template argument after N negates or transposes (along i).
//   wgmma_commit()                  closes the group of products
//   wgmma_wait<G>()                 until all but the newest G groups are done. Before that, the registers of
//                                   d and a and the operands in shared memory must not be changed, those of
//                                   d not be read; the array a stays in scope. Each warp waits for its own 16
//                                   rows: a barrier must follow before another warp's thread overwrites an
//                                   operand.
//
// Source: PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions".
#pragma once

#include <rondo/kernels/core/hopper.cuh>
#include <rondo/kernels/core/ptx/mma.cuh>

#include <cstdint>

#ifdef __SIMT__
#include <simt/wgmma.h>
#else
#include <rondo/kernels/core/ptx/wgmma_shapes.cuh>
#endif

namespace rondo::ptx {

// The encoding in a descriptor.
enum class MatrixSwizzle : unsigned { none = 0, bytes128 = 1, bytes64 = 2, bytes32 = 3 };

struct SharedMatrix {
  const void* start;
  unsigned leading, stride;  // bytes, multiples of 16 below 2^18
  MatrixSwizzle swizzle;
};

__device__ __forceinline__ uint64_t descriptor(const SharedMatrix& matrix) {
#ifdef __SIMT__
  const unsigned start = simt::shared_address(matrix.start);
#else
  const unsigned start = static_cast<unsigned>(__cvta_generic_to_shared(matrix.start));
#endif
  const auto field = [](unsigned bytes) { return static_cast<uint64_t>((bytes & 0x3FFFF) >> 4); };
  return field(start) | field(matrix.leading) << 16 | field(matrix.stride) << 32 |
         static_cast<uint64_t>(matrix.swizzle) << 62;
}

// The descriptor of a matrix that begins `bytes` later; a multiple of 16.
__device__ __forceinline__ uint64_t advanced(uint64_t descriptor, unsigned bytes) {
  return descriptor + (bytes >> 4);
}

__device__ __forceinline__ void wgmma_fence() {
  RONDO_SIMT_OR_SM90A_ASM(simt::warpgroup_fence(), "wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ __forceinline__ void wgmma_commit() {
  RONDO_SIMT_OR_SM90A_ASM(simt::warpgroup_commit(), "wgmma.commit_group.sync.aligned;" ::: "memory");
}

template <int Groups>
__device__ __forceinline__ void wgmma_wait([[maybe_unused]] Place place = Place::current()) {
  RONDO_SIMT_OR_SM90A_ASM(simt::warpgroup_wait(Groups, place),
                          "wgmma.wait_group.sync.aligned %0;" ::"n"(Groups)
                          : "memory");
}

// Whether the elements of a and b are negated, and whether they are contiguous along i instead of k.
struct WgmmaOptions {
  bool negate_a = false, negate_b = false;
  bool transpose_a = false, transpose_b = false;
};

template <class Element, int N, WgmmaOptions options = WgmmaOptions{}>
__device__ __forceinline__ void wgmma(float (&d)[N / 2], uint64_t a, uint64_t b, bool add,
                                      [[maybe_unused]] Place place = Place::current()) {
  static_assert(N >= 8 && N <= 256 && N % 8 == 0);
  static_assert(!std::is_same_v<Element, Tf32> || (!options.transpose_a && !options.transpose_b));
#ifdef __SIMT__
  simt::warpgroup_multiply({detail::kFormat<Element>, N, d, nullptr, a, b, add, options.negate_a,
                            options.negate_b, options.transpose_a, options.transpose_b},
                           place);
#else
  constexpr int kScaleA = options.negate_a ? -1 : 1, kScaleB = options.negate_b ? -1 : 1;
  detail::WgmmaShape<N>::template wgmma_shared<Element, kScaleA, kScaleB, options.transpose_a,
                                               options.transpose_b>(d, a, b, add);
#endif
}

template <class Element, int N, WgmmaOptions options = WgmmaOptions{}>
__device__ __forceinline__ void wgmma(float (&d)[N / 2], const unsigned (&a)[4], uint64_t b, bool add,
                                      [[maybe_unused]] Place place = Place::current()) {
  static_assert(N >= 8 && N <= 256 && N % 8 == 0);
  static_assert(!options.transpose_a && (!std::is_same_v<Element, Tf32> || !options.transpose_b));
#ifdef __SIMT__
  simt::warpgroup_multiply({detail::kFormat<Element>, N, d, a, 0, b, add, options.negate_a, options.negate_b,
                            false, options.transpose_b},
                           place);
#else
  constexpr int kScaleA = options.negate_a ? -1 : 1, kScaleB = options.negate_b ? -1 : 1;
  detail::WgmmaShape<N>::template wgmma_registers<Element, kScaleA, kScaleB, options.transpose_b>(d, a, b,
                                                                                                  add);
#endif
}

}  // namespace rondo::ptx
