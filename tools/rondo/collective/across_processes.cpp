#include <rondo/collectives/across_hosts/gather.h>
#include <rondo/tools/rondo/collective/across_processes.h>
#include <rondo/tools/rondo/links/measure_links.h>
#include <rondo/tools/rondo/links/rates.h>
#include <rondo/tools/rondo/support/format.h>
#include <rondo/tools/rondo/support/launched.h>

#include <algorithm>
#include <chrono>
#include <numeric>

namespace rondo::program {

namespace {

CommunicatorOptions communicator_options(ProcessGroup& processes) {
  CommunicatorOptions options{.bucket_bytes = 0};
  options.processes = &processes;
  return options;
}

}  // namespace

ProcessEngine::ProcessEngine(ProcessGroup& processes, std::vector<int> devices)
    : processes_(processes),
      devices_(devices),
      communicator_(std::move(devices), communicator_options(processes)) {}

Status ProcessEngine::enqueue(const CollectiveCall& call, RankOutputs outputs, RankInputs inputs,
                              RankStreams streams) {
  return all_reduce(outputs, inputs, {.reduction = call.reduction, .algorithm = call.algorithm},
                    communicator_, streams);
}

int64_t ProcessEngine::sum_over_processes(int64_t own) {
  const std::lock_guard lock(processes_.call_mutex());
  std::vector<int64_t> all;
  throw_if_error(gather(processes_, own, all, "counting wrong elements"));
  return std::accumulate(all.begin(), all.end(), int64_t{0});
}

double measure_messages(ProcessGroup& processes) {
  constexpr int64_t kBytes = int64_t{8} << 20;
  constexpr int kRepeats = 5;  // the best one counts
  const int size = processes.size(), own = processes.index();
  std::vector<std::byte> sent(kBytes), received(kBytes);
  const ProcessGroup::Message to{(own + 1) % size, sent.data(), kBytes};
  const ProcessGroup::Message from{(own + size - 1) % size, received.data(), kBytes};
  const std::lock_guard lock(processes.call_mutex());
  double best = 0;
  std::vector<double> all;
  for (int i = 0; i < kRepeats; ++i) {
    throw_if_error(
        gather(processes, best, all, "measuring the links between processes"));  // so that all start together
    const auto begin = std::chrono::steady_clock::now();
    throw_if_error(processes.exchange({&to, 1}, {&from, 1}, processes.next_tag(),
                                      "measuring the links between processes"));
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    best = std::max(best, copy_bandwidth(kBytes, seconds.count()));
  }
  throw_if_error(gather(processes, best, all, "measuring the links between processes"));
  return *std::min_element(all.begin(), all.end());
}

CollectiveReport report_across(ProcessGroup& processes, const CollectiveArguments& arguments,
                               const std::vector<int>& devices) {
  if (arguments.verb != Verb::all_reduce)
    throw Error(bad_argument("rondo ", command_of(arguments.verb), " is for one process, ", processes.size(),
                             " were started: must be allreduce"));
  if (arguments.algorithm != Algorithm::automatic || arguments.group > 0)
    throw Error(
        bad_argument("--algorithm and --group are not possible with several processes, which reduce "
                     "hierarchically with one group per process; ",
                     processes.size(), " were started"));
  const auto local = static_cast<int>(devices.size());
  CollectiveReport report{.verb = arguments.verb, .ranks = local * processes.size()};
  report.place = concat(places_text(processes), "; the first has ", device_list(devices));
  report.graph = arguments.graph_launches > 0;
  for (int rank = 0; rank < report.ranks; ++rank) report.devices.push_back(rank / local);
  report.ring_order.resize(devices.size());
  std::iota(report.ring_order.begin(), report.ring_order.end(), 0);
  report.measured = measure_constants(devices, report.ring_order);
  report.measured.wire_bandwidth = measure_messages(processes);
  report.measured.ranks_share_one_memory = false;
  return report;
}

}  // namespace rondo::program
