#include <rondo/collectives/ring_schedule.h>
#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/text.h>
#include <rondo/tools/rondo/pictures/svg.h>
#include <rondo/tools/rondo/schedule/schedule.h>
#include <rondo/tools/rondo/schedule/schedule_svg.h>
#include <rondo/tools/rondo/support/byte_count.h>
#include <rondo/tools/rondo/support/format.h>

#include <algorithm>
#include <cmath>

namespace rondo::program {
namespace {

using namespace svg;

constexpr double kMarginTop = 158, kMarginRight = 44, kPhaseGap = 44, kLeastPhaseWidth = 230,
                 kLeastWidth = 860;
constexpr double kStripHeight = 40, kFootHeight = 176;
constexpr double kGridWidth = 1000;  // the width of all columns together, unless cells become too small
constexpr double kSmallestCell = 17, kLargestCell = 96;
constexpr int kMostRanksWithPaths = 16;  // with more ranks the lines between cells are too small

// Hues all around the colour circle; with many chunks, adjacent ones also differ in lightness.
class ChunkColours {
 public:
  explicit ChunkColours(int ranks) : ranks_(ranks) {}
  std::string full(int chunk) const { return hue_colour(hue(chunk), 0.68, lightness(chunk)); }
  std::string pale(int chunk) const { return hue_colour(hue(chunk), 0.70, 0.945); }
  std::string dark(int chunk) const { return hue_colour(hue(chunk), 0.50, 0.46); }

 private:
  double hue(int chunk) const { return std::fmod(212 + 360.0 * chunk / ranks_, 360); }
  double lightness(int chunk) const { return ranks_ > 8 && chunk % 2 == 1 ? 0.74 : 0.66; }
  int ranks_;
};

class SchedulePicture {
 public:
  SchedulePicture(int ranks, int64_t bytes)
      : ranks_(ranks), phase_steps_(ranks - 1), bytes_(bytes), colours_(ranks) {
    const double fair = kGridWidth / std::max(1, ring::steps(ranks));
    pitch_ = std::clamp(fair, kSmallestCell, kLargestCell);
    row_ = std::max(kSmallestCell, pitch_ * 0.72);
    gap_ = ranks <= kMostRanksWithPaths ? pitch_ * 0.22 : 1.5;
    label_size_ = std::clamp(row_ * 0.34, 10.0, 15.0);
    left_ = 44 + label_size_ * 6.2;
    phase_width_ = std::max(kLeastPhaseWidth, phase_steps_ * pitch_);
  }

  std::string draw() const {
    std::string text = heading();
    if (phase_steps_ > 0)
      text += phase_heading(0) + phase_heading(1) + step_numbers() + rank_labels() + cells();
    return document(title(), width(), height(), text + strip() + legend());
  }

 private:
  double width() const { return std::max(kLeastWidth, left_ + 2 * phase_width_ + kPhaseGap + kMarginRight); }
  // The right edge of the last column.
  double right_end() const {
    return phase_steps_ > 0 ? phase_left(1) + phase_steps_ * pitch_ - gap_ : width() - kMarginRight;
  }
  double bottom() const { return kMarginTop + (phase_steps_ > 0 ? ranks_ * row_ : 0); }
  double height() const { return bottom() + kFootHeight; }

  double phase_left(int phase) const { return left_ + phase * (phase_width_ + kPhaseGap); }
  double x(int step) const {
    const int phase = step / phase_steps_;
    return phase_left(phase) + (step - phase * phase_steps_) * pitch_;
  }
  double y(int rank) const { return kMarginTop + rank * row_; }
  double cell_width() const { return pitch_ - gap_; }
  double cell_height() const { return row_ - gap_ * (pitch_ > kSmallestCell ? 0.8 : 1); }

  std::string title() const {
    return concat("Ring all-reduce: ", ranks_, ranks_ == 1 ? " rank" : " ranks", ", ",
                  counted(ring::steps(ranks_), "step"));
  }

  std::string heading() const {
    std::string rule = ranks_ == 1 ? "One rank has nothing to send."
                                   : concat("At step s rank r sends chunk r \u2212 s (mod ", ranks_,
                                            ") to the next rank, r + 1.");
    return words(44, 44, "start", 24, kInk, title(), "font-weight", "700") +
           words(44, 69, "start", 14.5, kSoftInk, concat(byte_count_text(bytes_), " on each rank. ", rule));
  }

  std::string phase_heading(int phase) const {
    const double at = phase_left(phase);
    return words(at, 103, "start", 16, kInk, phase == 0 ? "reduce-scatter" : "all-gather", "font-weight",
                 "700") +
           words(at, 122, "start", 12.5, kSoftInk,
                 phase == 0 ? "receivers add: the sum rises" : "receivers keep the finished sum") +
           element("line", "x1", at, "y1", kMarginTop - 25, "x2", at + phase_steps_ * pitch_ - gap_, "y2",
                   kMarginTop - 25, "stroke", kAxis, "stroke-width", 1.5);
  }

  std::string step_numbers() const {
    std::string text;
    for (int step = 0; step < ring::steps(ranks_); ++step)
      text += words(x(step) + cell_width() / 2, kMarginTop - 9, "middle",
                    std::min(13.0, pitch_ * (ring::steps(ranks_) > 100 ? 0.4 : 0.52)), kSoftInk,
                    (step == 0 && pitch_ >= 60 ? "step " : "") + exact_text(step));
    return text;
  }

  std::string rank_labels() const {
    std::string text;
    for (int rank = 0; rank < ranks_; ++rank)
      text += words(left_ - 16, y(rank) + cell_height() / 2 + label_size_ * 0.36, "end", label_size_, kInk,
                    concat("rank ", rank, " \u2192 ", ring::next_position(rank, ranks_)));
    return text;
  }

  std::string cells() const {
    std::string paths, boxes;
    for (int rank = 0; rank < ranks_; ++rank)
      for (int step = 0; step < ring::steps(ranks_); ++step) {
        const Transfer transfer = transfer_of(rank, step, ranks_, bytes_);
        if (transfer.bytes > 0 && ranks_ <= kMostRanksWithPaths) paths += path(transfer);
        boxes += cell(transfer);
      }
    return paths + boxes;
  }

  static std::string sentence(const Transfer& t) {
    if (t.bytes == 0)
      return concat("step ", t.step, ": rank ", t.from, " sends nothing to rank ", t.to, ", chunk ", t.chunk,
                    " is empty");
    return concat("step ", t.step, ": rank ", t.from, " sends chunk ", t.chunk, " (",
                  grouped(t.bytes, "byte"), ", ",
                  t.adds ? concat(t.shares, t.shares == 1 ? " share" : " shares") : "finished", ") to rank ",
                  t.to, t.adds ? ", which adds its own" : ", which keeps it");
  }

  std::string cell(const Transfer& t) const {
    const double x0 = x(t.step), y0 = y(t.from), w = cell_width(), h = cell_height();
    const double round = std::min(6.0, w * 0.12);
    std::string text = "<g><title>" + escaped(sentence(t)) + "</title>\n";
    if (t.bytes == 0) {
      text += element("rect", "x", x0, "y", y0, "width", w, "height", h, "rx", round, "fill", "#ffffff",
                      "stroke", kAxis, "stroke-width", 0.8, "stroke-dasharray", "3 2");
    } else {
      const double filled = h * t.shares / ranks_;
      text += element("rect", "x", x0, "y", y0, "width", w, "height", h, "rx", round, "fill",
                      colours_.pale(t.chunk));
      text += element("rect", "x", x0, "y", y0 + h - filled, "width", w, "height", filled, "rx",
                      std::min(round, filled / 2), "fill", colours_.full(t.chunk));
    }
    const double size = std::clamp(h * 0.46, 8.0, 24.0);
    text += words(x0 + w / 2, y0 + h / 2 + size * 0.36, "middle", size, t.bytes == 0 ? kAxis : kInk,
                  exact_text(t.chunk), "font-weight", t.adds ? "400" : "700");
    return text + "</g>\n";
  }

  // The path of a chunk: a rank sends at each step what it received at the step before. From the last row the
  // path continues in the first.
  std::string path(const Transfer& t) const {
    if (t.step + 1 == ring::steps(ranks_)) return "";
    const double x1 = x(t.step) + cell_width() / 2, y1 = y(t.from) + cell_height() / 2;
    const double x2 = x(t.step + 1) + cell_width() / 2, y2 = y1 + row_;
    if (t.to != 0) return segment(t.chunk, x1, y1, x2, y2);
    const double half_x = (x1 + x2) / 2, above = y(0) + cell_height() / 2 - row_ / 2;
    return segment(t.chunk, x1, y1, half_x, y1 + row_ / 2) +
           segment(t.chunk, half_x, above, x2, y(0) + cell_height() / 2);
  }

  std::string segment(int chunk, double x1, double y1, double x2, double y2) const {
    return element("line", "x1", x1, "y1", y1, "x2", x2, "y2", y2, "stroke", colours_.dark(chunk),
                   "stroke-width", std::clamp(pitch_ * 0.04, 1.0, 3.0), "stroke-opacity", "0.55");
  }

  // The data of one rank, split into chunks.
  std::string strip() const {
    const double top = bottom() + 38, full = right_end() - left_;
    std::string text = words(left_ - 16, top + kStripHeight / 2 + 5, "end", 13, kInk, "data");
    if (bytes_ == 0)
      return text +
             element("rect", "x", left_, "y", top, "width", full, "height", kStripHeight, "rx", 4, "fill",
                     "#ffffff", "stroke", kAxis, "stroke-dasharray", "3 2") +
             words(left_ + full / 2, top + kStripHeight / 2 + 5, "middle", 13, kSoftInk, "no bytes");
    for (int chunk = 0; chunk < ranks_; ++chunk) {
      const ring::Chunk part = ring::chunk_of(bytes_, ranks_, chunk, 1);
      if (part.size == 0) continue;
      const double scale = full / static_cast<double>(bytes_);
      const double x0 = left_ + static_cast<double>(part.begin) * scale,
                   w = static_cast<double>(part.size) * scale;
      text += "<g><title>" +
              escaped(concat("chunk ", chunk, ": ", grouped(part.size, "byte"), " from byte ",
                             grouped(part.begin))) +
              "</title>\n";
      text += element("rect", "x", x0, "y", top, "width", w, "height", kStripHeight, "fill",
                      colours_.full(chunk), "stroke", "#ffffff", "stroke-width", std::min(1.5, w / 8));
      if (w >= 12)
        text += words(x0 + w / 2, top + kStripHeight / 2 + 5, "middle", std::min(15.0, w * 0.42), kInk,
                      (w >= 90 ? "chunk " : "") + exact_text(chunk));
      text += "</g>\n";
    }
    const std::string sent = ranks_ == 1 ? ""
                                         : concat("; each rank sends about ",
                                                  fixed(2.0 * phase_steps_ / ranks_, 2), " times its data");
    return text +
           words(left_, top + kStripHeight + 20, "start", 12.5, kSoftInk, chunk_sizes(ranks_, bytes_) + sent);
  }

  // Three cells that explain how cells are filled.
  std::string legend() const {
    if (phase_steps_ == 0) return "";
    double at = left_;
    std::string text;
    const auto entry = [&](double filled, bool empty, const std::string& meaning) {
      const double top = bottom() + 122;
      text +=
          element("rect", "x", at, "y", top, "width", 26, "height", 20, "rx", 4, "fill",
                  empty ? "#ffffff" : colours_.pale(0), "stroke", empty ? kAxis : colours_.pale(0).c_str(),
                  "stroke-width", 0.8, "stroke-dasharray", empty ? "3 2" : "none");
      if (!empty)
        text += element("rect", "x", at, "y", top + 20 * (1 - filled), "width", 26, "height", 20 * filled,
                        "rx", std::min(4.0, 10 * filled), "fill", colours_.full(0));
      text += words(at + 36, top + 15, "start", 13, kSoftInk, meaning);
      at += 56 + 6.6 * static_cast<double>(meaning.size());
    };
    entry(1.0 / ranks_, false, concat("a sum of 1 of ", ranks_, " shares"));
    if (ranks_ > 2)
      entry(static_cast<double>(ranks_ - 1) / ranks_, false, concat("of ", ranks_ - 1, " of ", ranks_));
    entry(1, false, "of all: finished");
    if (ring::chunk_of(bytes_, ranks_, ranks_ - 1, 1).size == 0)
      entry(0, true, "an empty chunk: nothing is sent");
    return text;
  }

  int ranks_;
  int phase_steps_;
  int64_t bytes_;
  ChunkColours colours_;
  double pitch_, row_, gap_, label_size_, left_, phase_width_;
};

}  // namespace

std::string schedule_svg(int ranks, int64_t bytes) { return SchedulePicture(ranks, bytes).draw(); }

}  // namespace rondo::program
