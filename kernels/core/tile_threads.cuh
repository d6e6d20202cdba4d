// The two kinds of threads for which kernels have tiles, and the numbers that depend on the kind.
//
//   GpuThreads     Lanes of a warp. The hardware combines their accesses. Shared memory has 32 banks of 4
//                  bytes: padding lets the lanes access different ones. A block has hundreds of threads.
//   VectorThreads  Threads of the CPU executor. Each keeps its values in the vector registers of a processor,
//                  so a block has few or one. Shared memory is cache: padding is one cache line, so that rows
//                  do not compete for a few sets.
//
// A tile names its kind as Tile::Threads. The executor has both: with SIMT_GPU=t4, and in the preset
// `observe`, it runs the tiles of a GPU.
#pragma once

#include <rondo/kernels/core/vec.cuh>

#ifdef __SIMT__
#include <simt/settings.h>
#endif

#include <type_traits>

namespace rondo {

// If !kVectorTiles (loops.cuh), the types of VectorThreads exist, but no kernel has them.
inline constexpr VectorRegisters kTileRegisters = kVectorTiles ? kVectorRegisters : VectorRegisters{16, 32};

struct GpuThreads {
  static constexpr bool kVectors = false;
  static constexpr int kAlignment = 16;     // of operands in shared memory, in bytes
  static constexpr int kKMajorPadding = 4;  // floats after a row of a K-major k-tile
  static constexpr int kGap = 4;            // floats after a thread's values in a row of an MN-major k-tile
  static constexpr int kLine = 0;           // floats after the values of a frequency, or of a step of k
  static constexpr int kTransformed = 1;    // channels of a pixel that a thread transforms at once
  static constexpr int kStored = 4;         // columns that a thread stores at once
  template <int N>
  static constexpr int kSharing = N;  // threads that share N neighbouring values
};

struct VectorThreads {
  static constexpr bool kVectors = true;
  static constexpr int kAlignment = 64;
  static constexpr int kKMajorPadding = 16;
  static constexpr int kGap = 0;
  static constexpr int kLine = 16;
  static constexpr int kTransformed = kTileRegisters.lanes;
  static constexpr int kStored = kTileRegisters.lanes;
  template <int N>
  static constexpr int kSharing = 1;
};

template <bool vectors>
using ThreadsOf = std::conditional_t<vectors, VectorThreads, GpuThreads>;

// Whether a kernel with a variant for each kind is launched for VectorThreads: not with SIMT_GPU. Tiles of
// GEMM and of convolutions are chosen by their shared memory instead (choose_tile()).
inline bool use_vector_threads() {
#ifdef __SIMT__
  return kVectorTiles && simt::settings().gpu.empty();
#else
  return false;
#endif
}

}  // namespace rondo
