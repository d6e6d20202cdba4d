// The page of `rondo schedule --html`: one file that plays the steps of the all-reduce, without a network. It
// is filled from page.html, page.css and page.js of this folder.
#pragma once

#include <rondo/tools/rondo/schedule/arguments.h>

#include <string>

namespace rondo::program {

// The page shows every number of ranks from 2 to 16, and begins with arguments.ranks.
std::string schedule_page(const ScheduleArguments& arguments);

}  // namespace rondo::program
