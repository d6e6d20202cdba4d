#include <rondo/kernels/core/status.h>
#include <rondo/tools/rondo/schedule/schedule.h>
#include <rondo/tools/rondo/support/byte_count.h>
#include <rondo/tools/rondo/support/option_readers.h>

namespace rondo::program {
namespace {

constexpr int kMostRanks = 64;

void check_page(const ScheduleArguments& arguments) {
  const bool page = !arguments.html.empty(), steps = page || !arguments.json.empty();
  if (steps && (arguments.ranks < kLeastPageRanks || arguments.ranks > kMostPageRanks))
    throw Error(bad_argument("--ranks is '", arguments.ranks, "', must be from ", kLeastPageRanks, " to ",
                             kMostPageRanks, page ? " with --html" : " with --json"));
  const char* given = arguments.group > 0      ? "--group"
                      : arguments.links_given  ? "--links"
                      : arguments.alpha_us     ? "--alpha"
                      : arguments.bandwidth_gb ? "--bandwidth"
                                               : nullptr;
  if (given && !steps) throw Error(bad_argument(given, " needs --html or --json"));
  if (arguments.group > 0 && arguments.ranks % arguments.group != 0)
    throw Error(
        bad_argument("--group is '", arguments.group, "', must divide the ", arguments.ranks, " ranks"));
}

void add_schedule_options(const Command& schedule, ScheduleArguments& to) {
  add_integer(schedule, "--ranks", "N", "Ranks in the ring, from 1 to 64", to.ranks, 1, kMostRanks)
      .required();
  schedule.when_missing("--ranks was not given: rondo schedule --ranks 4");
  schedule.add("--bytes", "SIZE", "Size of each rank's data, such as 1000, 25MB or 16MiB [16MiB]",
               [&](const std::string& s) { to.bytes = parse_byte_count("--bytes", s, 0); });
  add_path(schedule, "--svg", "FILE.svg", "Draw the schedule instead of printing a table", to.svg);
  add_path(schedule, "--html", "FILE.html",
           "Write a page that plays the steps of all algorithms, for 2 to 16 ranks", to.html);
  add_path(schedule, "--json", "FILE.json", "Write the steps of all algorithms as JSON", to.json);
  add_integer(schedule, "--group", "N",
              "Ranks in a node, which are the groups of the hierarchical algorithm [about as many as nodes]",
              to.group, 1, kMostRanks);
  add_link_options(schedule, to);
  schedule.when_parsed([&to] { check_page(to); });
}

}  // namespace

void add_schedule(Program& program) {
  program.add<ScheduleArguments>("schedule", "Show which rank sends which chunk at each step of the ring",
                                 add_schedule_options,
                                 [](const ScheduleArguments& arguments, const RunContext& context) {
                                   show_schedule(arguments, context.out);
                                 });
}

}  // namespace rondo::program
