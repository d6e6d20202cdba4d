#include <rondo/collectives/across_hosts/gather.h>
#include <rondo/kernels/core/text.h>
#include <rondo/tools/rondo/collective/same_options.h>
#include <rondo/tools/rondo/support/byte_count.h>

#include <array>

namespace rondo::program {

namespace {

std::string number(int64_t value) { return exact_text(value); }

std::string bytes(int64_t value) { return byte_count_text(value); }

std::string yes_or_no(int64_t value) { return value ? "given" : "not given"; }

template <class T>
std::string name(int64_t value) {
  return name_of(static_cast<T>(value));
}

std::string verb(int64_t value) { return command_of(static_cast<Verb>(value)); }

// A bit set with one bit per value.
template <class T>
int64_t set_of(const std::vector<T>& values) {
  int64_t bits = 0;
  for (const T value : values) bits |= int64_t{1} << static_cast<int>(value);
  return bits;
}

template <class T>
std::string names(int64_t bits) {
  std::string all;
  for (int value = 0; value < 63; ++value)
    if (bits >> value & 1) all += concat(all.empty() ? "" : " ", short_name_of(static_cast<T>(value)));
  return all;
}

struct ComparedOption {
  const char* name;
  int64_t value;
  std::string (*text)(int64_t);
};

// The options that determine the number and the kind of operations.
std::array<ComparedOption, 16> options_of(const CollectiveArguments& a, int ranks) {
  constexpr int kAnyRoot = -1;
  return {{{"the command", static_cast<int64_t>(a.verb), verb},
           {"-g", ranks, number},
           {"-b", a.least_bytes, bytes},
           {"-e", a.sizes().back(), bytes},
           {"-f", a.factor, number},
           {"-i", a.factor > 0 ? 0 : a.step_bytes, bytes},
           {"-n", a.iterations, number},
           {"-w", a.warmup, number},
           {"-c", a.checks, number},
           {"-G", a.graph_launches, number},
           {"-d", set_of(a.dtypes), names<DType>},
           {"-o", set_of(a.reductions), names<Reduction>},
           {"-r", a.root.value_or(kAnyRoot), number},
           {"--algorithm", static_cast<int64_t>(a.algorithm), name<Algorithm>},
           {"--group", a.group, number},
           {"--trace", !a.trace.empty(), yes_or_no}}};
}

}  // namespace

void check_same_options(ProcessGroup& processes, const CollectiveArguments& arguments, int ranks) {
  const auto options = options_of(arguments, ranks);
  std::array<int64_t, std::tuple_size_v<decltype(options_of(arguments, ranks))>> own{};
  for (size_t i = 0; i < own.size(); ++i) own[i] = options[i].value;
  std::vector<decltype(own)> all;
  const std::lock_guard lock(processes.call_mutex());
  throw_if_error(gather(processes, own, all, "comparing the options of rondo allreduce"));
  for (size_t i = 0; i < own.size(); ++i)
    for (size_t process = 1; process < all.size(); ++process)
      if (all[process][i] != all[0][i])
        throw Error(bad_argument(options[i].name, " is ", options[i].text(all[process][i]), " in ",
                                 processes.name(static_cast<int>(process)), " and ",
                                 options[i].text(all[0][i]), " in ", processes.name(0),
                                 ", must be the same in all processes"));
}

}  // namespace rondo::program
