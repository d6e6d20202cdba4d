#include <cuda_runtime_api.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/text.h>
#include <rondo/kernels/runtime/platform.h>
#include <rondo/tools/rondo/devices/devices.h>
#include <rondo/tools/rondo/support/device_list.h>
#include <rondo/tools/rondo/support/format.h>
#include <rondo/tools/rondo/support/text_table.h>

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

}  // namespace

void show_devices(const DevicesArguments& arguments, std::ostream& out) {
  if (arguments.count) throw_if_error(request_devices(*arguments.count));
  const int count = present_devices();
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

}  // namespace rondo::program
