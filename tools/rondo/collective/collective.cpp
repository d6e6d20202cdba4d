#include <rondo/kernels/core/counted.h>
#include <rondo/tools/rondo/collective/across_processes.h>
#include <rondo/tools/rondo/collective/collective.h>
#include <rondo/tools/rondo/collective/cost.h>
#include <rondo/tools/rondo/collective/same_options.h>
#include <rondo/tools/rondo/collective/session.h>
#include <rondo/tools/rondo/support/device_list.h>
#include <rondo/tools/rondo/links/link_file.h>
#include <rondo/tools/rondo/links/measure_links.h>
#include <rondo/tools/rondo/support/byte_count.h>
#include <rondo/tools/rondo/support/format.h>
#include <rondo/tools/rondo/support/launched.h>
#include <rondo/tools/rondo/support/output_file.h>
#include <rondo/tools/rondo/train/trace_json.h>

#include <algorithm>
#include <numeric>

namespace rondo::program {
namespace {

double shown(const std::vector<double>& seconds, TimeOf which) {
  switch (which) {
    case TimeOf::rank0:
      return seconds.front();
    case TimeOf::least:
      return *std::min_element(seconds.begin(), seconds.end());
    case TimeOf::most:
      return *std::max_element(seconds.begin(), seconds.end());
    case TimeOf::mean:
      break;
  }
  return std::accumulate(seconds.begin(), seconds.end(), 0.0) / static_cast<double>(seconds.size());
}

// Measures one type, reduction and root over all sizes.
class Series {
 public:
  Series(const CollectiveArguments& arguments, Engine& engine, Session& session, CollectiveReport& report,
         std::ostream& out)
      : arguments_(arguments), engine_(engine), session_(session), report_(report), out_(out) {}

  void run(const CollectiveCall& call) {
    std::vector<TimedSize> samples;
    const size_t first = report_.rows.size();
    for (const int64_t bytes : arguments_.sizes()) {
      report_.rows.push_back(measure(call, bytes));
      const CollectiveRow& row = report_.rows.back();
      out_ << collective_line(report_, row) << std::flush;
      if (row.out_of_place.seconds > 0)
        samples.push_back({static_cast<double>(row.bytes), row.out_of_place.seconds});
    }
    CollectiveFit line{
        report_.rows[first].dtype, report_.rows[first].reduction, report_.rows[first].root, {}};
    if (fit(samples, line.line).ok()) report_.fits.push_back(line);  // a single size gives no line
  }

 private:
  CollectiveRow measure(CollectiveCall call, int64_t bytes) {
    const int64_t elements = bytes / size_of(call.dtype);
    const Extent extent = extent_of(call.verb, report_.ranks, elements);
    CollectiveRow row{
        .bytes = extent.larger() * size_of(call.dtype), .count = extent.count, .dtype = call.dtype};
    if (reduces(call.verb)) row.reduction = call.reduction;
    if (has_root(call.verb)) row.root = call.root;
    row.algorithm = engine_.algorithm_of(call, row.bytes);
    row.bound_seconds = bound_of(call.verb, report_.devices, report_.measured.ranks_share_one_memory,
                                 static_cast<double>(row.bytes), report_.measured);
    LinkConstants constants = report_.measured;
    if (report_.graph) constants.host_seconds_per_call = 0;  // one launch for all iterations
    row.predicted =
        cost_of(call.verb, row.algorithm, report_.ranks, row.bytes, constants, engine_.peers_reachable());
    const auto timing = [&](bool in_place) {
      Measured measured = session_.measure(call, elements, in_place, ++seed_);
      if (measured.wrong) measured.wrong = engine_.sum_over_processes(*measured.wrong);
      return CollectiveTiming{shown(measured.seconds, arguments_.time_of), measured.wrong};
    };
    row.out_of_place = timing(false);
    if (works_in_place(call.verb)) row.in_place = timing(true);
    return row;
  }

  const CollectiveArguments& arguments_;
  Engine& engine_;
  Session& session_;
  CollectiveReport& report_;
  std::ostream& out_;
  uint64_t seed_ = 0;
};

// All requested calls, each of which runs over all sizes.
std::vector<CollectiveCall> calls_of(const CollectiveArguments& arguments, int ranks) {
  std::vector<int> roots = {arguments.root.value_or(0)};
  if (!arguments.root) {
    roots.resize(static_cast<size_t>(ranks));
    std::iota(roots.begin(), roots.end(), 0);
  }
  const Algorithm algorithm = arguments.group > 0 ? Algorithm::hierarchical : arguments.algorithm;
  std::vector<CollectiveCall> calls;
  for (const DType dtype : arguments.dtypes) {
    for (const Reduction reduction : arguments.reductions) {
      for (const int root : roots) calls.push_back({arguments.verb, dtype, reduction, root, algorithm});
    }
  }
  return calls;
}

void check_root(const CollectiveArguments& arguments, int ranks) {
  if (arguments.root.value_or(0) < ranks) return;
  throw Error(bad_argument("-r is ", *arguments.root, ", must be below ", ranks, ", the number of ranks"));
}

void check_group(const CollectiveArguments& arguments, int ranks) {
  if (arguments.group == 0) return;
  if (arguments.algorithm != Algorithm::automatic)
    throw Error(bad_argument("--algorithm is '", name_of(arguments.algorithm),
                             "', must be automatic with --group, which reduces hierarchically"));
  if (ranks % arguments.group != 0)
    throw Error(
        bad_argument("--group is ", arguments.group, ", must divide ", ranks, ", the number of ranks"));
}

SessionOptions session_options(const CollectiveArguments& arguments) {
  return {.iterations = arguments.iterations,
          .warmup = arguments.warmup,
          .checks = arguments.checks,
          .graph_launches = arguments.graph_launches,
          .misalign = arguments.misalign};
}

// Called before anything is measured or printed.
void check_memory(const CollectiveArguments& arguments, const std::vector<int>& devices) {
  const int64_t bytes = Session::bytes_per_rank(arguments.sizes().back(), session_options(arguments));
  for (const int device : devices) {
    const DeviceScope scope(device);
    size_t free = 0, total = 0;
    RONDO_CUDA_THROW(cudaMemGetInfo(&free, &total));
    const auto ranks = std::count(devices.begin(), devices.end(), device);
    if (bytes <= static_cast<int64_t>(free) / ranks) continue;
    throw Error(Status(StatusCode::out_of_resources,
                       concat("the largest size is ", byte_count_text(arguments.sizes().back()),
                              ", for which ", ranks, ranks == 1 ? " rank needs " : " ranks need ",
                              byte_size(bytes), ranks == 1 ? "" : " each", " on device ", device, ", where ",
                              byte_size(static_cast<int64_t>(free)), " are free; -e sets a smaller one")));
  }
}

std::vector<int> devices_of(const CollectiveArguments& arguments) {
  if (arguments.devices) return take_devices(arguments.devices);
  return devices_for(arguments.ranks.value_or(kDefaultReplicas));
}

struct Files {
  Files() = default;  // none
  explicit Files(const CollectiveArguments& arguments)
      : json("--json", arguments.json), timeline("--trace", arguments.trace) {}

  OutputFile json, timeline;
};

}  // namespace

void measure_collective(const CollectiveArguments& arguments, Engine& engine, CollectiveReport& report,
                        std::ostream& out) {
  out << collective_header(report) << std::flush;
  Session session(engine, arguments.sizes().back(), session_options(arguments));
  Series series(arguments, engine, session, report, out);
  for (const CollectiveCall& call : calls_of(arguments, report.ranks)) series.run(call);
  out << collective_footer(report) << std::flush;
}

void throw_if_wrong(const CollectiveReport& report) {
  if (report.wrong() > 0)
    throw WrongResults(concat(counted(report.wrong(), "element"), report.wrong() == 1 ? " is" : " are",
                              " wrong, must be none"));
}

namespace {

// Measures and writes the files.
void run(const CollectiveArguments& arguments, Engine& engine, CollectiveReport& report, const Files& files,
         std::ostream& out) {
  measure_collective(arguments, engine, report, out);
  if (files.json.wanted()) files.json.write(collective_json(report));
  if (!arguments.trace.empty()) {  // in all processes, although only the first writes the file
    const CollectiveCall call = calls_of(arguments, report.ranks).front();
    Session session(engine, arguments.sizes().back(), {.misalign = arguments.misalign});
    Trace trace(engine.devices());
    session.run_once(call, arguments.sizes().back() / size_of(call.dtype), trace);
    if (files.timeline.wanted()) files.timeline.write(trace_json(trace.collect(), trace.devices()));
  }
  for (const OutputFile* file : {&files.json, &files.timeline}) {
    if (file->wanted()) out << "# wrote " << file->shown() << "\n";
  }
  throw_if_wrong(report);
}

void run_here(const CollectiveArguments& arguments, const Files& files, std::ostream& out) {
  CollectiveReport report{.verb = arguments.verb, .devices = devices_of(arguments)};
  report.ranks = static_cast<int>(report.devices.size());
  report.graph = arguments.graph_launches > 0;
  check_root(arguments, report.ranks);
  check_group(arguments, report.ranks);
  check_memory(arguments, report.devices);

  const StoredLinks stored = stored_links(report.devices);
  report.links_note = stored.note;
  report.ring_order.resize(report.devices.size());
  std::iota(report.ring_order.begin(), report.ring_order.end(), 0);
  if (stored.table) report.ring_order = best_ring_order(*stored.table, report.devices);
  report.measured = measure_constants(report.devices, report.ring_order);
  CommunicatorOptions options{.bucket_bytes = 0, .ring_order = report.ring_order, .links = report.measured};
  if (stored.table) options.links = constants_of(*stored.table, report.devices, report.ring_order);
  options.group_size = arguments.group;
  LocalEngine engine(report.devices, options);
  report.measured.slot_bytes = engine.communicator().options().slot_bytes;
  run(arguments, engine, report, files, out);
}

void run_across(const CollectiveArguments& arguments, const Files& files, std::ostream& out,
                ProcessGroup& processes) {
  const std::vector<int> devices =
      arguments.devices || arguments.ranks ? devices_of(arguments) : device_for(processes);
  check_same_options(processes, arguments, static_cast<int>(devices.size()));
  check_memory(arguments, devices);
  CollectiveReport report = report_across(processes, arguments, devices);
  ProcessEngine engine(processes, devices);
  report.measured.slot_bytes = engine.communicator().options().slot_bytes;
  run(arguments, engine, report, files, out);
}

}  // namespace

void run_collective(const CollectiveArguments& arguments, std::ostream& out, ProcessGroup* processes) {
  std::ostream nowhere(nullptr);
  if (!processes) return run_here(arguments, Files(arguments), out);
  const bool first = processes->index() == 0;
  run_across(arguments, first ? Files(arguments) : Files(), first ? out : nowhere, *processes);
}

}  // namespace rondo::program
