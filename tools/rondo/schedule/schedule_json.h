// The steps of the all-reduce as JSON, for `rondo schedule --json` and for the page of --html.
#pragma once

#include <rondo/tools/rondo/schedule/arguments.h>

#include <string>
#include <vector>

namespace rondo::program {

// {"bytes", "links", "schedules": [...]}: for each number of ranks, one schedule for each algorithm, with its
// steps. A schedule of arguments.ranks ranks has groups of arguments.group ranks, if that is not 0.
std::string schedule_json(const ScheduleArguments& arguments, const std::vector<int>& ranks);

}  // namespace rondo::program
