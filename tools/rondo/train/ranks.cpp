#include <rondo/kernels/core/counted.h>
#include <rondo/tools/rondo/links/link_file.h>
#include <rondo/tools/rondo/support/device_list.h>
#include <rondo/tools/rondo/support/format.h>
#include <rondo/tools/rondo/support/launched.h>
#include <rondo/tools/rondo/train/ranks.h>

#include <algorithm>
#include <utility>

namespace rondo::program {

int64_t replicas_for(const RanksArguments& arguments, int in_one, const ProcessGroup* processes) {
  const auto here = static_cast<int64_t>(arguments.devices ? arguments.devices->size()
                                         : processes       ? 1
                                                           : in_one);
  return here * (processes ? processes->size() : 1);
}

// Several processes, and groups, always reduce hierarchically.
void check_ranks(const RanksArguments& arguments, int in_one, const ProcessGroup* processes) {
  if (arguments.device_count_invariant && arguments.algorithm != Algorithm::automatic &&
      arguments.algorithm != Algorithm::direct)
    throw Error(bad_argument("--algorithm is '", name_of(arguments.algorithm),
                             "', must be automatic or direct with --device-count-invariant"));
  if (!processes && arguments.group == 0) return;
  const std::string with =
      processes ? concat("in ", counted(processes->size(), "process", "processes")) : "with --group";
  if (arguments.device_count_invariant)
    throw Error(bad_argument("--device-count-invariant is not possible ", with));
  if (arguments.algorithm != Algorithm::automatic)
    throw Error(bad_argument("--algorithm is '", name_of(arguments.algorithm), "', must be automatic ", with,
                             ", which reduce hierarchically"));
  if (processes && arguments.group > 0)
    throw Error(bad_argument("--group is ", arguments.group, ", must not be given ", with,
                             ", each of which is a group"));
  const int64_t replicas = replicas_for(arguments, in_one, processes);
  if (!processes && replicas % arguments.group != 0)
    throw Error(
        bad_argument("--group is ", arguments.group, ", must divide ", replicas, ", the number of replicas"));
}

std::vector<int> take_ranks(const RanksArguments& arguments, int in_one, const ProcessGroup* processes) {
  return arguments.devices ? take_devices(arguments.devices)
         : processes       ? device_for(*processes)
                           : devices_for(in_one);
}

void set_ranks(nn::DataParallelOptions& options, const RanksArguments& arguments, std::vector<int> devices,
               int in_one, ProcessGroup* processes) {
  check_ranks(arguments, in_one, processes);
  options.algorithm = processes || arguments.group > 0 ? Algorithm::hierarchical : arguments.algorithm;
  options.group_size = processes ? 0 : arguments.group;
  options.processes = processes;
  options.math = math_of(arguments.precision);
  options.activations = element_type(arguments.precision);
  options.reduce_dtype = element_type(arguments.reduce_dtype);
  options.devices = std::move(devices);
  if (arguments.device_count_invariant) options = nn::with_device_count_invariance(options);
}

std::string use_links(nn::DataParallelOptions& options) {
  const StoredLinks links = stored_links(options.devices);
  if (links.table && options.devices.size() > 1 && options.order == SumOrder::left_to_right) {
    options.devices = best_placement(*links.table, options.devices);
    if (options.algorithm == Algorithm::automatic)
      options.algorithm =
          best_algorithm(*links.table, options.devices,
                         options.bucket_bytes / size_of(DType::float32) * size_of(options.reduce_dtype));
  }
  return links.note;
}

std::vector<int> shown_devices(const nn::DataParallelOptions& options) {
  std::vector<int> devices = options.devices;
  if (options.order == SumOrder::balanced_tree)
    devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
  return devices;
}

std::string ranks_text(const nn::DataParallelOptions& options) {
  if (options.order == SumOrder::balanced_tree) return concat(nn::kSampleBlocks, " sample blocks");
  const size_t here = options.devices.size();
  if (options.processes)
    return concat(here * static_cast<size_t>(options.processes->size()), " in groups of ", here);
  return options.group_size > 0 ? concat(here, " in groups of ", options.group_size) : concat(here);
}

std::string all_reduce_text(const nn::DataParallelOptions& options) {
  return concat(name_of(options.algorithm), " all-reduce",
                options.reduce_dtype == DType::bfloat16 ? concat(" in ", name_of(Precision::bf16)) : "");
}

namespace {

bool alone(const nn::DataParallelOptions& options) {
  return options.devices.size() == 1 && (!options.processes || options.processes->size() == 1);
}

}  // namespace

std::string parallelism_text(const nn::DataParallelOptions& options) {
  if (alone(options)) return "1 replica";
  const bool plain =
      options.order == SumOrder::left_to_right && !options.processes && options.group_size == 0;
  return concat(ranks_text(options), plain ? " replicas, " : ", ", all_reduce_text(options));
}

std::string batch_text(const nn::DataParallelOptions& options) {
  if (options.micro_batches == 1) return grouped(options.batch);
  return concat(grouped(options.batch), " in ", grouped(options.micro_batches), " micro-batches");
}

std::string reduce_dtype_note(const nn::DataParallelOptions& options) {
  return alone(options) && options.reduce_dtype != DType::float32
             ? "--reduce-dtype has no effect: a single replica reduces nothing"
             : "";
}

}  // namespace rondo::program
