#include <rondo/collectives/models/ring_order.h>
#include <rondo/kernels/core/text.h>
#include <rondo/kernels/runtime/platform.h>
#include <rondo/tools/rondo/links/link_file.h>
#include <rondo/tools/rondo/links/links.h>
#include <rondo/tools/rondo/links/measure_links.h>
#include <rondo/tools/rondo/support/device_list.h>
#include <rondo/tools/rondo/support/format.h>
#include <rondo/tools/rondo/support/output_file.h>
#include <rondo/tools/rondo/support/text_table.h>

#include <algorithm>
#include <filesystem>
#include <functional>

namespace rondo::program {
namespace {

std::string rounded_gigabytes(double bandwidth) {
  return fixed(bandwidth / 1e9, bandwidth < 99.95e9 ? 1 : 0);
}
std::string rounded_microseconds(double seconds) { return fixed(seconds * 1e6, 1); }

void show_matrix(const LinkTable& table, const std::string& title, std::ostream& out,
                 const std::function<std::string(const Link&)>& cell) {
  std::vector<TextRow> rows = {{"from \\ to"}};
  for (const MeasuredDevice& to : table.devices) rows[0].push_back(device_label(to.device));
  for (const MeasuredDevice& from : table.devices) {
    rows.push_back({device_label(from.device)});
    for (const MeasuredDevice& to : table.devices)
      rows.back().push_back(cell(table.between(from.device, to.device)));
  }
  out << "\n" << title << "\n";
  show_table(rows, out, 1);
}

std::string access_word(const Link& link) {
  return link.access == PeerAccess::same_device ? "self" : name_of(link.access);
}

// Explains links without direct access.
void explain_access(const LinkTable& table, std::ostream& out) {
  for (const MeasuredDevice& from : table.devices) {
    for (const MeasuredDevice& to : table.devices) {
      const std::string link = device_label(from.device) + " -> " + device_label(to.device);
      switch (table.between(from.device, to.device).access) {
        case PeerAccess::broken:
          out << link
              << " is broken: the machine reports peer access, but data of a trial did not arrive in at "
              << "least one direction; copies are staged through the host\n";
          break;
        case PeerAccess::unsupported:
          out << link << " has no peer access: copies are staged through the host\n";
          break;
        default:
          break;
      }
    }
  }
}

void show_ring(const LinkTable& table, std::ostream& out) {
  std::vector<int> devices;
  for (const MeasuredDevice& device : table.devices) devices.push_back(device.device);
  const std::vector<int> order = best_ring_order(table, devices);
  std::vector<double> bandwidth;
  for (const Link& link : table.links) bandwidth.push_back(link.bandwidth);
  std::vector<int> around;
  for (const int rank : order) around.push_back(devices[static_cast<size_t>(rank)]);
  out << "ring order  " << device_list(around);
  if (devices.size() > 1)
    out << ", slowest link " << rounded_gigabytes(slowest_link(order, bandwidth)) << " GB/s";
  if (devices.size() > 1 && share_one_memory(table.platform, devices))
    out << "; the devices share one memory, so all orders are equal";
  out << "\n";
}

// The output file, checked to be writable; not requested with --no-store.
OutputFile store_of(const LinksArguments& arguments) {
  if (arguments.no_store) return {};
  if (!arguments.store.empty()) return OutputFile("--store", arguments.store);
  const std::string path = default_link_file();
  if (path.empty())
    throw Error(
        bad_argument("neither XDG_CACHE_HOME nor HOME is set: give --store FILE for the results, "
                     "or --no-store"));
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(),
                                      error);  // OutputFile reports a failure
  return OutputFile("--store", path);
}

}  // namespace

std::string link_text(const LinkTable& table) {
  TextStream out;
  std::vector<TextRow> rows = {{"device", "name", "memory GB/s", "kernel us"}};
  for (const MeasuredDevice& device : table.devices)
    rows.push_back({device_label(device.device), device.name, rounded_gigabytes(device.memory_bandwidth),
                    rounded_microseconds(device.kernel_latency)});
  show_table(rows, out, 2);
  show_matrix(table, "copy bandwidth, GB/s", out,
              [](const Link& link) { return rounded_gigabytes(link.bandwidth); });
  show_matrix(table, "copy latency, us", out,
              [](const Link& link) { return rounded_microseconds(link.latency); });
  show_matrix(table, "kernel reads, GB/s", out,
              [](const Link& link) { return rounded_gigabytes(link.kernel_bandwidth); });
  show_matrix(table, "peer access, verified by a kernel's write", out, access_word);
  explain_access(table, out);
  if (!table.graph_refusal.empty())
    out << "some copy latencies include the host's calls: CUDA rejected the graph, " << table.graph_refusal
        << "\n";
  out << "\nhost        " << rounded_microseconds(table.host_seconds_per_call) << " us a call\n";
  show_ring(table, out);
  return out.str();
}

void show_links(const LinksArguments& arguments, std::ostream& out) {
  const OutputFile store = store_of(arguments);
  const std::vector<int> devices =
      arguments.devices ? take_devices(arguments.devices) : devices_for(std::max(device_count(), 1));
  const LinkTable table = measure_links(devices, LinkEffort{});
  out << link_text(table);
  if (!store.wanted()) return;
  store.write(link_json(table));
  out << "wrote " << store.shown() << "\n";
}

}  // namespace rondo::program
