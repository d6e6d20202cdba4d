#include <rondo/kernels/core/text.h>
#include <rondo/tools/rondo/pages/page.h>
#include <rondo/tools/rondo/schedule/schedule.h>
#include <rondo/tools/rondo/schedule/schedule_json.h>
#include <rondo/tools/rondo/schedule/schedule_page.h>
#include <rondo_pages.h>

#include <numeric>

namespace rondo::program {

std::string schedule_page(const ScheduleArguments& arguments) {
  std::vector<int> ranks(kMostPageRanks - kLeastPageRanks + 1);
  std::iota(ranks.begin(), ranks.end(), kLeastPageRanks);
  return filled_page(kSchedulePage,
                     {{"style", kPageStyle},
                      {"own-style", kSchedulePageStyle},
                      {"common-script", kPageScript},
                      {"script", kSchedulePageScript},
                      {"ranks", exact_text(arguments.ranks)},
                      {"data", json_in_page(schedule_json(arguments, ranks))},
                      {"table", text_in_page(schedule_text(arguments.ranks, arguments.bytes))}});
}

}  // namespace rondo::program
