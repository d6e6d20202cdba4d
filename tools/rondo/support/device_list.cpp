#include <cuda_runtime_api.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/runtime/platform.h>
#include <rondo/nn/io/parse.h>
#include <rondo/tools/rondo/support/device_list.h>

#include <algorithm>
#include <numeric>

namespace rondo::program {
namespace {

// Makes the first device current. Otherwise device 0, CUDA's default, would get a context even if it is not
// in the list (DeviceScope).
std::vector<int> first_made_current(std::vector<int> devices) {
  RONDO_CUDA_THROW(cudaSetDevice(devices[0]));
  return devices;
}

}  // namespace

std::vector<int> parse_devices(const std::string& text) {
  const auto fail = [&](const auto&... why) {
    throw Error(bad_argument("--devices is '", text, "', ", why...));
  };
  if (text.find(',') == std::string::npos) {
    const std::optional<int> count = read_number<int>(text);
    if (!count || *count < 1 || *count > kMaxDevices) {
      fail("must be a count from 1 to ", kMaxDevices, " or a list of devices such as 0,1,0");
    }
    std::vector<int> devices(static_cast<size_t>(*count));
    std::iota(devices.begin(), devices.end(), 0);
    return devices;
  }
  std::vector<int> devices;
  for (const std::string& entry : split(text, ',')) {
    const std::optional<int> device = read_number<int>(entry);
    if (!device || *device < 0 || *device >= kMaxDevices) {
      fail("whose entry '", entry, "' must be a device number from 0 to ", kMaxDevices - 1);
    }
    devices.push_back(*device);
  }
  if (devices.size() > kMaxDevices) fail("must have at most ", kMaxDevices, " entries, has ", devices.size());
  return devices;
}

int present_devices() {
  int count = 0;
  throw_if_error(count_devices(count));
  if (count > 0) return count;
  throw Error(Status(StatusCode::out_of_resources,
                     "no CUDA device was found; the preset cpu builds rondo for the CPU"));
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
  return first_made_current(in_turn(ranks, present_devices()));
}

std::vector<int> in_turn(int ranks, int present) {
  std::vector<int> devices;
  for (int rank = 0; rank < ranks; ++rank) devices.push_back(rank % present);
  return devices;
}

}  // namespace rondo::program
