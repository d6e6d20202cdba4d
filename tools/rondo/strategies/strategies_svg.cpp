#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/core/status.h>
#include <rondo/tools/rondo/pictures/svg.h>
#include <rondo/tools/rondo/scale/scale.h>
#include <rondo/tools/rondo/strategies/strategies.h>
#include <rondo/tools/rondo/support/format.h>

#include <algorithm>

namespace rondo::program {
namespace {

using namespace svg;

constexpr double kNames = 150, kPanel = 250, kGap = 110, kLeft = 44, kTop = 176, kRow = 62, kBar = 30;
constexpr const char* kTimeColour = "#2a6fdb";
constexpr const char* kSentColour = "#e4572e";

// A part of the memory of a rank, and its colour.
struct MemoryKind {
  const char* name;
  int64_t nn::RankMemory::*bytes;
  const char* colour;
};
constexpr MemoryKind kMemory[] = {{"parameters", &nn::RankMemory::parameters, "#0b7285"},
                                  {"gradients", &nn::RankMemory::gradients, "#2f9e63"},
                                  {"activations", &nn::RankMemory::activations, "#c9a227"},
                                  {"buffers", &nn::RankMemory::buffers, "#9aa5b1"}};

// The rank that needs the most.
const nn::RankMemory& fullest(const StrategyRun& run) {
  return *std::ranges::max_element(run.memory, {}, &nn::RankMemory::total);
}

class StrategiesPicture {
 public:
  explicit StrategiesPicture(const StrategyReport& report) : report_(report) {
    for (const StrategyRun& run : report.runs) {
      seconds_ = std::max(seconds_, run.step_seconds);
      memory_ = std::max(memory_, static_cast<double>(fullest(run).total()));
      sent_ = std::max(sent_, static_cast<double>(run.sent_bytes));
    }
  }

  std::string draw() const {
    const std::string title = concat("Training ", report_.model, " in several ways");
    const size_t devices = report_.devices.size();
    std::string text =
        words(kLeft, 46, "start", 24, kInk, title, "font-weight", "700") +
        words(kLeft, 73, "start", 14.5, kSoftInk,
              concat(grouped(report_.parameters, "parameter"), ", batches of ", grouped(report_.batch), ", ",
                     counted(devices, "rank"), "; single: one of them"));
    const std::pair<const char*, const char*> headings[] = {
        {"time of a step", "the median"},
        {"memory of a rank", "of the rank with the most"},
        {"traffic of a step", "sent by all ranks together"}};
    for (int panel = 0; panel < 3; ++panel) {
      text +=
          words(x(panel), 122, "start", 16, kInk, headings[panel].first, "font-weight", "700") +
          words(x(panel), 142, "start", 13, kSoftInk, headings[panel].second) +
          element("line", "x1", x(panel), "y1", kTop - 12, "x2", x(panel), "y2", bottom(), "stroke", kAxis);
    }
    for (size_t i = 0; i < report_.runs.size(); ++i)
      text += row(report_.runs[i], kTop + kRow * static_cast<double>(i));
    return document(title, x(2) + kPanel + kGap, bottom() + 62, text + legend());
  }

 private:
  static double x(int panel) { return kLeft + kNames + panel * (kPanel + kGap); }
  double bottom() const { return kTop + kRow * static_cast<double>(report_.runs.size()); }
  static double length(double value, double most) { return most > 0 ? kPanel * value / most : 0; }

  static std::string bar(double x, double y, double width, const char* colour) {
    return element("rect", "x", x, "y", y, "width", width, "height", kBar, "rx", 2, "fill", colour);
  }
  static std::string figure(double x, double y, const std::string& text) {
    return words(x + 8, y + kBar / 2 + 5, "start", 14, kInk, text);
  }

  std::string row(const StrategyRun& run, double y) const {
    const nn::RankMemory& rank = fullest(run);
    std::string text =
        "<g><title>" +
        escaped(concat(name_of(run.kind), ": ", time_text(run.step_seconds), ", ", byte_size(rank.total()),
                       ", ", byte_size(run.sent_bytes))) +
        "</title>\n" +
        words(kLeft, y + kBar / 2 + 5, "start", 16, kInk, name_of(run.kind), "font-weight", "600");
    double end = length(run.step_seconds, seconds_);
    text += bar(x(0), y, end, kTimeColour) + figure(x(0) + end, y, time_text(run.step_seconds));
    end = 0;
    for (const MemoryKind& kind : kMemory) {
      const double part = length(static_cast<double>(rank.*kind.bytes), memory_);
      if (part > 0) text += bar(x(1) + end, y, part, kind.colour);
      end += part;
    }
    text += figure(x(1) + end, y, byte_size(rank.total()));
    end = length(static_cast<double>(run.sent_bytes), sent_);
    text += bar(x(2), y, end, kSentColour) + figure(x(2) + end, y, byte_size(run.sent_bytes));
    return text + "</g>\n";
  }

  std::string legend() const {
    std::string text;
    double at = x(1);
    for (const MemoryKind& kind : kMemory) {
      text += element("circle", "cx", at + 7, "cy", bottom() + 22, "r", 7, "fill", kind.colour) +
              words(at + 20, bottom() + 27, "start", 13.5, kSoftInk, kind.name);
      at += 42 + 7.2 * static_cast<double>(std::string(kind.name).size());
    }
    return text;
  }

  const StrategyReport& report_;
  double seconds_ = 0, memory_ = 0, sent_ = 0;
};

}  // namespace

std::string strategies_svg(const StrategyReport& report) { return StrategiesPicture(report).draw(); }

}  // namespace rondo::program
