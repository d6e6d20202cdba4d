// One kernel moves up to kMaxVectors vectors. A network has many small gradients; one copy for each would
// cost more than the transfer itself. Each vector gets a range of the grid's blocks; a block finds its vector
// by its index.
#include <rondo/collectives/pack.h>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/pack.cuh>

#include <algorithm>

namespace rondo {

namespace {

constexpr int kMaxVectors = 64;
constexpr int kThreads = 256;
constexpr int64_t kBytesPerBlock = 4 * 16 * kThreads;
constexpr int64_t kAlignment = 16;

constexpr int64_t aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

struct Parts {
  int count = 0;
  std::byte* bucket = nullptr;
  std::byte* vector[kMaxVectors] = {};
  int64_t begin[kMaxVectors] = {};  // offset in the bucket
  int64_t bytes[kMaxVectors] = {};
  int64_t first_block[kMaxVectors + 1] = {};
};

enum class Way { into_bucket, out_of_bucket };

// Moves up to 16 bytes. The address in the bucket is aligned; the address in the vector need not be.
template <Way W>
__device__ __forceinline__ void move(std::byte* bucket, std::byte* vector, int64_t bytes) {
  const bool whole = bytes >= kAlignment && reinterpret_cast<uintptr_t>(vector) % kAlignment == 0;
  if (whole) {
    if constexpr (W == Way::into_bucket)
      store_pack(bucket, load_pack<16>(vector));
    else
      store_pack(vector, load_pack<16>(bucket));
    return;
  }
  for (int64_t i = 0; i < kAlignment; ++i) {
    if constexpr (W == Way::into_bucket)
      bucket[i] = i < bytes ? vector[i] : std::byte{0};
    else if (i < bytes)
      vector[i] = bucket[i];
  }
}

template <Way W>
__global__ void __launch_bounds__(kThreads) move_kernel(const __grid_constant__ Parts parts) {
  int part = 0;
  while (parts.first_block[part + 1] <= blockIdx.x) ++part;
  const int64_t block_begin = (blockIdx.x - parts.first_block[part]) * kBytesPerBlock;
  for (int64_t at = block_begin + threadIdx.x * kAlignment;
       at < block_begin + kBytesPerBlock && at < parts.bytes[part]; at += kThreads * kAlignment)
    move<W>(parts.bucket + parts.begin[part] + at, parts.vector[part] + at, parts.bytes[part] - at);
}

template <Way W>
Status move_all(const char* operation, std::byte* bucket, std::span<const DataView> vectors,
                cudaStream_t stream) {
  int64_t begin = 0;
  for (size_t first = 0; first < vectors.size(); first += kMaxVectors) {
    Parts parts;
    parts.bucket = bucket;
    const size_t last = std::min(first + kMaxVectors, vectors.size());
    for (size_t i = first; i < last; ++i) {
      const int64_t bytes = vectors[i].bytes();
      if (bytes == 0) continue;
      parts.vector[parts.count] = static_cast<std::byte*>(vectors[i].data);
      parts.begin[parts.count] = begin;
      parts.bytes[parts.count] = bytes;
      parts.first_block[parts.count + 1] = parts.first_block[parts.count] + ceil_div(bytes, kBytesPerBlock);
      ++parts.count;
      begin += aligned(bytes);
    }
    LaunchShape shape;
    shape.block_x = kThreads;
    shape.grid_x = parts.first_block[parts.count];
    RONDO_RETURN_IF_ERROR(launch(operation, shape, stream, move_kernel<W>, parts));
  }
  return {};
}

}  // namespace

int64_t packed_size(std::span<const DataView> vectors) {
  int64_t bytes = 0;
  for (const DataView& vector : vectors) bytes += aligned(vector.bytes());
  return vectors.empty() ? 0 : bytes / size_of(vectors[0].dtype);
}

Status pack(const char* operation, void* bucket, std::span<const DataView> vectors, cudaStream_t stream) {
  return move_all<Way::into_bucket>(operation, static_cast<std::byte*>(bucket), vectors, stream);
}

Status unpack(const char* operation, std::span<const DataView> vectors, const void* bucket,
              cudaStream_t stream) {
  return move_all<Way::out_of_bucket>(operation, static_cast<std::byte*>(const_cast<void*>(bucket)), vectors,
                                      stream);
}

Status load_pack_kernels() {
  RONDO_RETURN_IF_ERROR(load("pack", move_kernel<Way::into_bucket>));
  return load("unpack", move_kernel<Way::out_of_bucket>);
}

}  // namespace rondo
