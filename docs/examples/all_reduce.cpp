// All-reduce over four ranks: every rank gets the sum of the ranks' vectors. Here all ranks share one device.
#include <rondo/collectives/collectives.h>
#include <rondo/kernels/runtime/buffer.h>

#include <iostream>

int main() {
  const std::vector<int> devices = {0, 0, 0, 0};  // {0, 1, 2, 3} on four GPUs
  rondo::Communicator communicator(devices);
  std::vector<rondo::Buffer<float>> buffers;
  std::vector<rondo::Stream> streams;
  std::vector<rondo::DataView> vectors;
  for (size_t rank = 0; rank < devices.size(); ++rank) {
    const rondo::DeviceScope scope(devices[rank]);
    streams.emplace_back();
    const auto mine = static_cast<float>(rank + 1);
    buffers.emplace_back(std::vector<float>{mine, 10 * mine});
    vectors.push_back({buffers[rank].data(), 2, rondo::DType::float32});
  }

  const std::vector<cudaStream_t> on(streams.begin(), streams.end());
  rondo::throw_if_error(rondo::all_reduce(vectors, {.algorithm = rondo::Algorithm::ring}, communicator, on));
  for (rondo::Stream& stream : streams) stream.synchronize();
  for (rondo::Buffer<float>& buffer : buffers)
    std::cout << buffer.download()[0] << ' ' << buffer.download()[1] << '\n';  // prints 10 100 for each rank
}
