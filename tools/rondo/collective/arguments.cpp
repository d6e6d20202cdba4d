#include <rondo/collectives/types.h>
#include <rondo/kernels/core/counted.h>
#include <rondo/tools/rondo/collective/collective.h>
#include <rondo/tools/rondo/support/byte_count.h>
#include <rondo/tools/rondo/support/device_list.h>
#include <rondo/tools/rondo/support/option_readers.h>

#include <algorithm>
#include <iterator>
#include <string_view>

namespace rondo::program {
namespace {

// Limits that only a mistyped number exceeds.
constexpr int kMostIterations = 1'000'000;
constexpr int kMostMisalign = 4096;

constexpr const char* kSizeExamples = "8, 64K, 25MB or 1G";

// Returns the entry of `all` with this name, or all entries for "all".
template <class T, size_t N>
std::vector<T> read_names(const std::string& option, const std::string& text, const T (&all)[N]) {
  if (text == "all") return {std::begin(all), std::end(all)};
  std::string names;
  for (const T one : all) {
    if (text == short_name_of(one)) return {one};
    names += concat(short_name_of(one), ", ");
  }
  throw Error(bad_argument(option, " is '", text, "', must be one of ", names, "all"));
}

void check_sizes(const CollectiveArguments& arguments) {
  const int64_t most = arguments.last_bytes();
  if (most < arguments.least_bytes)
    throw Error(bad_argument("-e is ", counted(most, "byte"), ", must be at least -b, which is ",
                             arguments.least_bytes));
  if (arguments.sizes().size() <= kMostCollectiveSizes) return;
  if (arguments.factor > 0)
    throw Error(bad_argument("-f is ", arguments.factor, ", which makes more than ", kMostCollectiveSizes,
                             " sizes; use a larger factor"));
  throw Error(bad_argument("-i is ", byte_count_text(arguments.step_bytes), ", which makes more than ",
                           kMostCollectiveSizes, " sizes; use a larger -i, or -f 2"));
}

void add_sizes(const Command& app, CollectiveArguments& to) {
  app.add("-b,--minbytes", "SIZE", concat("The first size, such as ", kSizeExamples, " [32M]"),
          [&](const std::string& s) { to.least_bytes = parse_size("-b", s); });
  app.add("-e,--maxbytes", "SIZE", "The last size [32M]",
          [&](const std::string& s) { to.most_bytes = parse_size("-e", s); });
  const Option step = app.add("-i,--stepbytes", "SIZE", "Increment from one size to the next [1M]",
                              [&](const std::string& s) { to.step_bytes = parse_size("-i", s); });
  add_integer(app, "-f,--stepfactor", "N", "Factor from one size to the next, instead of -i", to.factor, 2,
              1 << 20)
      .excludes(step);
}

void add_placement(const Command& app, CollectiveArguments& to) {
  const Option ranks =
      add_integer(app, "-g,--ngpus", "N", "Number of ranks; ranks share devices if there are fewer [2]",
                  to.ranks, 1, kMaxRanks);
  app.add("--devices", "N|LIST", "The ranks' devices: a count, or a list such as 0,1,0",
          [&](const std::string& s) { to.devices = parse_devices(s); })
      .excludes(ranks);
}

void add_timing(const Command& app, CollectiveArguments& to) {
  add_integer(app, "-n,--iters", "N", "Timed iterations [20]", to.iterations, 1, kMostIterations);
  add_integer(app, "-w,--warmup_iters", "N", "Warm-up iterations, not timed [1]", to.warmup, 0,
              kMostIterations);
  add_integer(app, "-c,--check", "N", "Runs whose results are checked exactly; 0: none [1]", to.checks, 0,
              kMostIterations);
  app.add("-a,--average", "0|1|2|3",
          "Reported time: 0 rank 0, 1 mean of the ranks, 2 fastest rank, 3 slowest rank [1]",
          [&](const std::string& s) { to.time_of = static_cast<TimeOf>(read_integer<int>("-a", s, 0, 3)); });
  add_integer(app, "-G,--cudagraph", "N",
              "Record the iterations as one graph and launch it N times; 0: no graph [0]", to.graph_launches,
              0, kMostIterations);
}

void add_data(const Command& app, CollectiveArguments& to) {
  app.add("-d,--datatype", "TYPE", "float, double, half, bfloat16, int32, int64, uint8 or all [float]",
          [&](const std::string& s) { to.dtypes = read_names("-d", s, kDTypes); });
  if (reduces(to.verb))
    app.add("-o,--op", "OP", "sum, prod, min, max, avg or all [sum]",
            [&](const std::string& s) { to.reductions = read_names("-o", s, kReductions); });
  if (has_root(to.verb))
    app.add("-r,--root", "RANK", "Root rank, or all: every rank in turn [0]", [&](const std::string& s) {
      to.root = s == "all" ? std::nullopt : std::optional(read_integer<int>("-r", s, 0, kMaxRanks - 1));
    });
  add_integer(app, "-u,--misalign", "N", "Offset of all buffers from 16-byte alignment, in elements [0]",
              to.misalign, 0, kMostMisalign);
}

// The valid algorithms depend on the operation: all-reduce has three, all-to-all one.
Algorithm algorithm_for(Verb verb, const std::string& text) {
  const Algorithm algorithm = read_algorithm(text);
  const bool known = algorithm == Algorithm::automatic || algorithm == Algorithm::direct ||
                     (algorithm == Algorithm::ring && verb != Verb::all_to_all) ||
                     (algorithm == Algorithm::root && verb == Verb::all_reduce);
  if (known) return algorithm;
  throw Error(bad_argument("--algorithm is '", text, "', must be ",
                           verb == Verb::all_to_all ? "automatic or direct" : "automatic, ring or direct",
                           " for ", command_of(verb)));
}

}  // namespace

int64_t CollectiveArguments::last_bytes() const {
  return most_bytes.value_or(std::max(least_bytes, int64_t{32} << 20));
}

std::vector<int64_t> CollectiveArguments::sizes() const {
  const int64_t most = last_bytes();
  std::vector<int64_t> all;
  for (int64_t size = least_bytes; size <= most && all.size() <= kMostCollectiveSizes;) {
    all.push_back(size);
    // Compares before it computes the next size, which could overflow.
    if (factor > 0 ? size > most / factor : size > most - step_bytes) break;
    size = factor > 0 ? size * factor : size + step_bytes;
  }
  return all;
}

namespace {

void add_collective_options(const Command& command, Verb verb, CollectiveArguments& to) {
  to.verb = verb;
  add_placement(command, to);
  add_sizes(command, to);
  add_timing(command, to);
  add_data(command, to);
  command.add("--algorithm", "NAME",
              verb == Verb::all_reduce   ? "automatic, ring, direct or root [automatic]"
              : verb == Verb::all_to_all ? "automatic or direct [automatic]"
                                         : "automatic, ring or direct [automatic]",
              [verb, &to](const std::string& s) { to.algorithm = algorithm_for(verb, s); });
  add_path(command, "--json", "FILE.json", "Write all figures as JSON", to.json);
  add_path(command, "--trace", "FILE.json", "Write a timeline of one iteration of the last size", to.trace);
  if (verb == Verb::all_reduce)
    add_integer(command, "--group", "N",
                "Reduce hierarchically in groups of N ranks, like processes of N ranks each", to.group, 1,
                kMostGroup);
  add_integer(command, "-T,--timeout", "SECONDS", "How long processes (mpirun) wait for each other [60]",
              to.timeout, 1, kMostTimeout);
  command.when_parsed([&to] { check_sizes(to); });
}

}  // namespace

void add_collectives(Program& program) {
  for (const Verb verb : kVerbs)
    program.add<CollectiveArguments>(
        command_of(verb),
        concat("Time and check ", command_of(verb), ", and compare with the machine's bound"),
        [verb](const Command& command, CollectiveArguments& to) {
          add_collective_options(command, verb, to);
        },
        [](const CollectiveArguments& arguments, const RunContext& context) {
          run_collective(arguments, context.out, context.processes);
        });
}

int64_t parse_size(const std::string& option, const std::string& text) {
  constexpr std::string_view kSuffixes = "KMGTkmgt";
  std::string spelled = text;
  const size_t suffix = text.empty() ? std::string_view::npos : kSuffixes.find(text.back());
  if (suffix != std::string_view::npos) {
    spelled.back() = kSuffixes[suffix % 4];
    spelled += "iB";
  }
  const std::optional<int64_t> bytes = read_byte_count(spelled);
  if (bytes && *bytes >= 1) return *bytes;
  throw Error(bad_argument(option, " is '", text, "', must be a whole number of bytes from 1 to ",
                           byte_count_text(kMostBytes), ", such as ", kSizeExamples));
}

const char* short_name_of(DType dtype) {
  constexpr const char* kNames[] = {"float", "double", "bfloat16", "half", "int32", "int64", "uint8"};
  return kNames[static_cast<int>(dtype)];
}

const char* short_name_of(Reduction reduction) {
  constexpr const char* kNames[] = {"sum", "prod", "min", "max", "avg"};
  return kNames[static_cast<int>(reduction)];
}

}  // namespace rondo::program
