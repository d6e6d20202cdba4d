// The warp instructions of tensor cores: products of small matrices (mma.sync), and loads and stores of 8 x 8
// matrices in shared memory (ldmatrix, stmatrix). Each call is one meeting of the 32 lanes of a warp, for any
// number of instructions of one kind.
//
// Numerics of a product. Its documentation leaves the sums open; the executor computes them as follows. Each
// product of two elements is exact. The products of 8 steps of k and the old sum are aligned to the largest
// of them and truncated to 24 bits, added exactly, and the result is truncated to fp32. These are the fewest
// bits that were measured on any GPU; GPUs of compute capability 8.0 and newer keep one or more bits below.
// Sources: Fasi, Higham, Mikaitis and Pranesh, "Numerical behavior of NVIDIA tensor cores", PeerJ Computer
// Science 7:e330, 2021; Khattak and Mikaitis, "Accurate models of NVIDIA tensor cores", arXiv:2512.07004.
#pragma once

#include <simt/barrier.h>
#include <simt/builtins.h>
#include <simt/memory_access.h>

#include <cstdint>

namespace simt {

// tf32: a float of which the lower 13 bits are ignored; one in each register. The others: two in each
// register.
enum class TensorFormat { tf32, bfloat16, float16 };

// The registers of the calling lane for a grid of fragments: m fragments of A (16 rows), n of B (8 columns).
struct TensorOperands {
  float* d;           // [m][n][4]
  const uint32_t* a;  // [m][4]
  const uint32_t* b;  // [n][2]
  int m, n;
};
// d[i][j] += a[i] * b[j], each one mma.sync.m16n8k8 (tf32) or m16n8k16.
void tensor_multiply(TensorFormat format, const TensorOperands& operands, Place place = Place::current());

namespace detail {
void load_matrices(uint32_t* registers, const void* const* rows, int count, int matrices, bool transposed,
                   Place place);
void store_matrices(const uint32_t* registers, void* const* rows, int count, int matrices, bool transposed,
                    Place place);
}  // namespace detail

// `count` instructions ldmatrix of `matrices` (1, 2 or 4) 8 x 8 matrices of 16-bit elements. rows[i] is the
// calling lane's address for instruction i: that of row lane % 8 of matrix lane / 8. The addresses of the
// lanes from 8 * matrices on are not used. Each instruction fills `matrices` registers of the lane.
[[gnu::always_inline]] inline void load_matrices(uint32_t* registers, const void* const* rows, int count,
                                                 int matrices, bool transposed,
                                                 Place place = Place::current()) {
#ifdef SIMT_OBSERVE
  for (int i = 0; i < count && lane_id() < 8 * matrices; ++i) detail::observe_load(rows[i], 16);
#endif
  detail::load_matrices(registers, rows, count, matrices, transposed, place);
}

// The same for stmatrix, which stores the registers.
[[gnu::always_inline]] inline void store_matrices(const uint32_t* registers, void* const* rows, int count,
                                                  int matrices, bool transposed,
                                                  Place place = Place::current()) {
#ifdef SIMT_OBSERVE
  for (int i = 0; i < count && lane_id() < 8 * matrices; ++i) detail::observe_store(rows[i], 16);
#endif
  detail::store_matrices(registers, rows, count, matrices, transposed, place);
}

}  // namespace simt
