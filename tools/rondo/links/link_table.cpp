#include <cuda_runtime_api.h>
#include <rondo/collectives/models/ring_order.h>
#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/runtime/platform.h>
#include <rondo/tools/rondo/links/device_name.h>
#include <rondo/tools/rondo/links/link_table.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace rondo::program {
namespace {

size_t row_of(const LinkTable& table, int device) {
  const auto found = std::find_if(table.devices.begin(), table.devices.end(),
                                  [&](const MeasuredDevice& d) { return d.device == device; });
  if (found == table.devices.end())
    throw Error(bad_argument("the links of device ", device, " were not measured"));
  return static_cast<size_t>(found - table.devices.begin());
}

Status check_value(const std::string& name, double value, bool zero_is_valid) {
  if (std::isfinite(value) && (value > 0 || (zero_is_valid && value == 0))) return {};
  return bad_argument(name, " is ", value, ", must be finite and ",
                      zero_is_valid ? "not negative" : "above 0");
}

// Rounds to steps of 10 percent.
double coarse(double bandwidth) {
  return std::round(std::pow(1.1, std::round(std::log(bandwidth) / std::log(1.1))));
}

}  // namespace

const MeasuredDevice& LinkTable::of(int device) const { return devices[row_of(*this, device)]; }
const Link& LinkTable::between(int from, int to) const {
  return links[row_of(*this, from) * devices.size() + row_of(*this, to)];
}

Status check(const LinkTable& table) {
  if (table.devices.empty()) return bad_argument("there are no devices, must be at least one");
  if (table.links.size() != table.devices.size() * table.devices.size())
    return bad_argument(there_are(table.links.size(), "link"), " between ",
                        counted(table.devices.size(), "device"), ", must be ",
                        table.devices.size() * table.devices.size());
  RONDO_RETURN_IF_ERROR(check_value("host_seconds_per_call", table.host_seconds_per_call, true));
  for (size_t i = 0; i < table.devices.size(); ++i) {
    const MeasuredDevice& device = table.devices[i];
    if (device.device < 0 || (i > 0 && device.device <= table.devices[i - 1].device))
      return bad_argument("device ", device.device, " must come after ",
                          i > 0 ? table.devices[i - 1].device : -1);
    RONDO_RETURN_IF_ERROR(check_value("memory_bandwidth", device.memory_bandwidth, false));
    RONDO_RETURN_IF_ERROR(check_value("kernel_latency", device.kernel_latency, true));
  }
  for (const Link& link : table.links) {
    RONDO_RETURN_IF_ERROR(check_value("bandwidth", link.bandwidth, false));
    RONDO_RETURN_IF_ERROR(check_value("kernel_bandwidth", link.kernel_bandwidth, false));
    RONDO_RETURN_IF_ERROR(check_value("latency", link.latency, true));
  }
  return {};
}

std::string mismatch(const LinkTable& table, const std::vector<int>& devices) {
  if (table.platform != platform())
    return concat("they were measured on the platform ", table.platform, ", this is ", platform());
  for (const int device : devices) {
    const auto found = std::find_if(table.devices.begin(), table.devices.end(),
                                    [&](const MeasuredDevice& d) { return d.device == device; });
    if (found == table.devices.end()) return concat(device_label(device), " was not measured");
    const std::string name = device_name(device);
    if (found->name != name)
      return concat(device_label(device), " was measured as ", found->name, ", now it is ", name);
  }
  return "";
}

bool share_one_memory(const std::string& platform, const std::vector<int>& devices) {
  return platform == "cpu" || std::set<int>(devices.begin(), devices.end()).size() == 1;
}

bool all_reach_all(const LinkTable& table, const std::vector<int>& devices) {
  for (const int from : devices) {
    for (const int to : devices) {
      const PeerAccess access = table.between(from, to).access;
      if (access != PeerAccess::same_device && access != PeerAccess::direct) return false;
    }
  }
  return true;
}

std::vector<int> best_ring_order(const LinkTable& table, const std::vector<int>& devices) {
  std::vector<int> order(devices.size());
  std::iota(order.begin(), order.end(), 0);
  if (share_one_memory(table.platform, devices)) return order;
  std::vector<double> bandwidth;
  for (const int from : devices) {
    for (const int to : devices) bandwidth.push_back(coarse(table.between(from, to).bandwidth));
  }
  throw_if_error(ring_order(static_cast<int>(devices.size()), bandwidth, order));
  return order;
}

LinkConstants constants_of(const LinkTable& table, const std::vector<int>& devices,
                           const std::vector<int>& order) {
  LinkConstants constants;
  constants.host_seconds_per_call = table.host_seconds_per_call;
  constants.ranks_share_one_memory = share_one_memory(table.platform, devices);
  constants.copy_latency = constants.kernel_latency = 0;
  constants.wire_bandwidth = constants.peer_bandwidth = constants.memory_bandwidth =
      std::numeric_limits<double>::max();
  const auto at = [&](size_t position) {
    return devices[static_cast<size_t>(order[position % order.size()])];
  };
  for (size_t position = 0; position < order.size(); ++position) {
    const Link& link = table.between(at(position), at(position + 1));
    constants.copy_latency = std::max(constants.copy_latency, link.latency);
    constants.wire_bandwidth = std::min(constants.wire_bandwidth, link.bandwidth);
  }
  for (const int device : devices) {
    constants.kernel_latency = std::max(constants.kernel_latency, table.of(device).kernel_latency);
    constants.memory_bandwidth = std::min(constants.memory_bandwidth, table.of(device).memory_bandwidth);
    for (const int peer : devices)
      constants.peer_bandwidth =
          std::min(constants.peer_bandwidth, table.between(device, peer).kernel_bandwidth);
  }
  return constants;
}

std::vector<int> best_placement(const LinkTable& table, const std::vector<int>& devices) {
  std::vector<int> placed;
  for (int position : best_ring_order(table, devices))
    placed.push_back(devices[static_cast<size_t>(position)]);
  return placed;
}

Algorithm best_algorithm(const LinkTable& table, const std::vector<int>& devices, int64_t bytes) {
  std::vector<int> order(devices.size());
  std::iota(order.begin(), order.end(), 0);
  return choose(static_cast<int>(devices.size()), bytes, constants_of(table, devices, order),
                all_reach_all(table, devices));
}

}  // namespace rondo::program
