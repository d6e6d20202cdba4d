#include <cuda_runtime_api.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/text.h>
#include <rondo/kernels/runtime/platform.h>
#include <rondo/tools/rondo/devices/devices.h>
#include <rondo/tools/rondo/support/format.h>
#include <rondo/tools/rondo/support/text_table.h>

#include <algorithm>
#include <string>
#include <vector>

namespace rondo::program {
namespace {

using Row = TextRow;

Row describe(int device) {
  cudaDeviceProp properties{};
  RONDO_CUDA_THROW(cudaSetDevice(device));
  RONDO_CUDA_THROW(cudaGetDeviceProperties(&properties, device));
  size_t free = 0, total = 0;
  RONDO_CUDA_THROW(cudaMemGetInfo(&free, &total));
  return {device_label(device),
          properties.name,
          exact_text(properties.multiProcessorCount),
          byte_size(static_cast<int64_t>(total)),
          byte_size(static_cast<int64_t>(free)),
          concat(properties.major, ".", properties.minor)};
}

std::string reach(int from, int to) {
  if (from == to) return "self";
  int possible = 0;
  RONDO_CUDA_THROW(cudaDeviceCanAccessPeer(&possible, from, to));
  return possible ? "yes" : "no";
}

int at_least_one_device() {
  int count = 0;
  throw_if_error(count_devices(count));
  if (count > 0) return count;
  throw Error(Status(StatusCode::out_of_resources,
                     "no CUDA device was found; the preset cpu builds rondo for the CPU"));
}

// Makes the first device current. Otherwise device 0, CUDA's default, would get a context even if it is not
// in the list (DeviceScope).
std::vector<int> first_made_current(std::vector<int> devices) {
  RONDO_CUDA_THROW(cudaSetDevice(devices[0]));
  return devices;
}

}  // namespace

void show_devices(const DevicesArguments& arguments, std::ostream& out) {
  if (arguments.count) throw_if_error(request_devices(*arguments.count));
  const int count = at_least_one_device();
  const bool on_cpu = std::string(platform()) == "cpu";
  std::vector<Row> table = {{"device", "name", on_cpu ? "workers" : "SMs", "memory", "free", "capability"}};
  for (int device = 0; device < count; ++device) table.push_back(describe(device));
  show_table(table, out, 2);
  if (on_cpu)
    out << "\nAll devices share the worker threads; the CPU executor creates as many devices as requested.\n";

  if (count == 1) return;
  std::vector<Row> matrix = {{"peer access"}};
  for (int to = 0; to < count; ++to) matrix[0].push_back(device_label(to));
  for (int from = 0; from < count; ++from) {
    Row row = {device_label(from)};
    for (int to = 0; to < count; ++to) row.push_back(reach(from, to));
    matrix.push_back(row);
  }
  out << "\n";
  show_table(matrix, out, 1);
}

std::vector<int> take_devices(const std::optional<std::vector<int>>& asked) {
  if (asked) {
    throw_if_error(request_devices(*std::max_element(asked->begin(), asked->end()) + 1));
    return first_made_current(*asked);
  }
  return devices_for(kDefaultReplicas);
}

std::vector<int> devices_for(int ranks) {
  // Only the CPU executor can create missing devices; on GPUs the ranks share the present devices.
  static_cast<void>(request_devices(ranks));
  return first_made_current(in_turn(ranks, at_least_one_device()));
}

std::vector<int> in_turn(int ranks, int present) {
  std::vector<int> devices;
  for (int rank = 0; rank < ranks; ++rank) devices.push_back(rank % present);
  return devices;
}

}  // namespace rondo::program
