// Many vectors, one behind the other in a bucket, and back.
#pragma once

#include <rondo/collectives/data_view.h>
#include <rondo/kernels/core/status.h>

#include <span>

namespace rondo {

// The elements that the vectors take in a bucket, in which each begins at a multiple of 16 bytes.
int64_t packed_size(std::span<const DataView> vectors);

// On the current device. Gaps between the vectors are set to zero by pack() and ignored by unpack().
Status pack(const char* operation, void* bucket, std::span<const DataView> vectors, cudaStream_t stream);
Status unpack(const char* operation, std::span<const DataView> vectors, const void* bucket,
              cudaStream_t stream);

// Loads the kernels of both on the current device (launch.cuh, load()).
Status load_pack_kernels();

}  // namespace rondo
