// Packs many vectors into a contiguous bucket and unpacks them.
#pragma once

#include <rondo/collectives/data_view.h>
#include <rondo/kernels/core/status.h>

#include <span>

namespace rondo {

// The number of elements that the vectors take in a bucket, in which each begins at a multiple of 16 bytes.
int64_t packed_size(std::span<const DataView> vectors);

// Both work on the current device. pack() sets the gaps between vectors to zero; unpack() ignores them.
Status pack(const char* operation, void* bucket, std::span<const DataView> vectors, cudaStream_t stream);
Status unpack(const char* operation, std::span<const DataView> vectors, const void* bucket,
              cudaStream_t stream);

// Loads the kernels of pack() and unpack() on the current device (load() in launch.cuh).
Status load_pack_kernels();

}  // namespace rondo
