#include <rondo/kernels/core/status.h>
#include <rondo/tools/rondo/judge/verdict.h>
#include <rondo/tools/rondo/pictures/svg.h>

#include <algorithm>

namespace rondo::program {
namespace {

constexpr double kWidth = 720, kMargin = 28, kNames = 150, kBar = 26, kGap = 14, kTop = 84;

struct Bar {
  const char* name;
  double seconds;
  const char* colour;
  std::string note;
};

}  // namespace

// The times as bars from 0; without a comparison, the verdict alone.
std::string verdict_svg(const Verdict& verdict) {
  const std::string title = concat(verdict.problem->title, ": ", name_of(verdict.judgement));
  std::string content = svg::words(kMargin, 38, "start", 22, svg::kInk, title);
  double height = kTop;
  if (verdict.comparison) {
    const Comparison& comparison = *verdict.comparison;
    content += svg::words(kWidth - kMargin, 38, "end", 24, "#c9a227", stars_text(comparison.stars));
    content += svg::words(
        kMargin, 62, "start", 14, svg::kSoftInk,
        concat("time on ", verdict.gpu->title, ", by the counts of ", verdict.problem->counted.text()));
    const Bar bars[] = {{"the problem", comparison.bound_seconds, svg::kAxis, ""},
                        {"best known", comparison.best.seconds, "#2f9e63", comparison.best.bound},
                        {"yours", comparison.yours.seconds, "#2a6fdb", comparison.yours.bound},
                        {"slow", comparison.slow.seconds, "#e4572e", comparison.slow.bound}};
    double longest = 0;
    for (const Bar& bar : bars) longest = std::max(longest, bar.seconds);
    const double room = kWidth - 2 * kMargin - kNames - 170;
    for (const Bar& bar : bars) {
      const double length = std::max(bar.seconds / longest * room, 1.0);
      content += svg::words(kMargin + kNames - 12, height + kBar * 0.7, "end", 14, svg::kInk, bar.name);
      content += svg::element("rect", "x", kMargin + kNames, "y", height, "width", length, "height", kBar,
                              "fill", bar.colour);
      content +=
          svg::words(kMargin + kNames + length + 8, height + kBar * 0.7, "start", 13, svg::kSoftInk,
                     concat(microseconds(bar.seconds), bar.note.empty() ? "" : concat(", ", bar.note)));
      height += kBar + kGap;
    }
  }
  return svg::document(title, kWidth, height + kMargin, content);
}

}  // namespace rondo::program
