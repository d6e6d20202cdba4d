#include <rondo/tools/rondo/schedule/schedule.h>
#include <rondo/tools/rondo/support/byte_count.h>
#include <rondo/tools/rondo/support/option_readers.h>

namespace rondo::program {
namespace {

constexpr int kMostRanks = 64;

void add_schedule_options(const Command& schedule, ScheduleArguments& to) {
  add_integer(schedule, "--ranks", "N", "Ranks in the ring, from 1 to 64", to.ranks, 1, kMostRanks)
      .required();
  schedule.when_missing("--ranks was not given: rondo schedule --ranks 4");
  schedule.add("--bytes", "SIZE", "Size of each rank's data, such as 1000, 25MB or 16MiB [16MiB]",
               [&](const std::string& s) { to.bytes = parse_byte_count("--bytes", s, 0); });
  add_path(schedule, "--svg", "FILE.svg", "Draw the schedule instead of printing a table", to.svg);
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
