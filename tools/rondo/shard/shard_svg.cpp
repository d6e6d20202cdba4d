#include <rondo/kernels/core/status.h>
#include <rondo/kernels/runtime/platform.h>
#include <rondo/tools/rondo/pictures/svg.h>
#include <rondo/tools/rondo/shard/shard.h>
#include <rondo/tools/rondo/support/format.h>

#include <algorithm>

namespace rondo::program {
namespace {

using namespace svg;

constexpr double kWidth = 860, kLeft = 132, kTop = 134, kBoxes = 684;
constexpr double kLeastRow = 26, kLeastColumn = 10, kMostHeight = 400;

// Sizes in proportion, of at least `least` each, whose sum is `room`.
std::vector<double> shares(const std::vector<int64_t>& sizes, double room, double least) {
  int64_t whole = 0;
  for (const int64_t size : sizes) whole += size;
  const double rest = room - least * static_cast<double>(sizes.size());
  std::vector<double> result;
  for (const int64_t size : sizes)
    result.push_back(least + rest * static_cast<double>(size) / static_cast<double>(whole));
  return result;
}

class ShardPicture {
 public:
  explicit ShardPicture(const Sharding& sharding) : sharding_(sharding) {
    std::vector<int64_t> rows, columns;
    for (size_t row = 0; row < sharding.part_rows(); ++row) rows.push_back(sharding.at(row, 0).rows.size);
    for (size_t i = 0; i < sharding.parts_in_a_row; ++i) columns.push_back(sharding.at(0, i).columns.size);
    // A part that several devices hold has a band for each of them.
    size_t bands = 0;
    for (size_t row = 0; row < rows.size(); ++row) {
      size_t most = 1;
      for (size_t i = 0; i < columns.size(); ++i) most = std::max(most, sharding.at(row, i).devices.size());
      bands += most;
    }
    const double least = kLeastRow * static_cast<double>(bands);
    const double tall = sharding.rows.size == 1 ? 90 : kMostHeight;
    heights_ = shares(rows, std::max(least, tall), kLeastRow);
    widths_ = shares(columns, kBoxes, std::min(kLeastColumn, kBoxes / static_cast<double>(columns.size())));
    for (const double height : heights_) height_ += height;
  }

  std::string draw() const {
    std::string text = words(44, 46, "start", 22, kInk, sharding_.title, "font-weight", "700") +
                       words(44, 71, "start", 14, kSoftInk, size_text(sharding_)) +
                       words(kLeft + kBoxes / 2, kTop - 30, "middle", 13, kInk, sharding_.columns.name()) +
                       words(44, kTop - 10, "start", 13, kInk, sharding_.rows.name());
    double x = kLeft;
    for (size_t column = 0; column < widths_.size(); x += widths_[column++])
      if (widths_[column] >= 40)
        text += words(x + widths_[column] / 2, kTop - 10, "middle", 12, kSoftInk,
                      grouped(sharding_.at(0, column).columns.size));
    double y = kTop;
    for (size_t row = 0; row < heights_.size(); y += heights_[row++]) {
      text += words(kLeft - 12, y + heights_[row] / 2 + 4, "end", 12, kSoftInk,
                    grouped(sharding_.at(row, 0).rows.size));
      x = kLeft;
      for (size_t column = 0; column < widths_.size(); x += widths_[column++]) text += box(row, column, x, y);
    }
    const std::string copies = copies_text(), idle = idle_text();
    const std::string below = copies + (copies.empty() || idle.empty() ? "" : " ") + idle;
    if (!below.empty()) text += words(kLeft, kTop + height_ + 28, "start", 13, kSoftInk, below);
    return document(sharding_.title, kWidth, kTop + height_ + 52, text);
  }

 private:
  std::string box(size_t row, size_t column, double x, double y) const {
    const ArrayPart& part = sharding_.at(row, column);
    const double w = widths_[column] - 3, h = heights_[row] - 3;
    const std::string label = holders_text(part);
    const auto number = static_cast<double>(row * widths_.size() + column);
    std::string text = "<g><title>" +
                       escaped(concat(label, ": ", grouped(part.rows.size), " x ", grouped(part.columns.size),
                                      ", ", byte_size(bytes_of(part)))) +
                       "</title>\n";
    if (part.empty() || part.devices.size() < 2 ||
        h < kLeastRow * static_cast<double>(part.devices.size()) - 3)
      return text + band(part, number, label, x, y, w, h) + "</g>\n";
    const double each = (h + 3) / static_cast<double>(part.devices.size());
    for (size_t i = 0; i < part.devices.size(); ++i)
      text += band(part, number, device_label(part.devices[i]), x, y + each * static_cast<double>(i), w,
                   each - 3);
    return text + "</g>\n";
  }

  // A rectangle with its label, which is rotated if it fits better upright: a character is about 0.55 of the
  // font size wide.
  std::string band(const ArrayPart& part, double number, const std::string& label, double x, double y,
                   double w, double h) const {
    std::string text =
        part.empty() ? element("rect", "x", x, "y", y, "width", w, "height", h, "rx", 4, "fill", "#ffffff",
                               "stroke", kAxis, "stroke-dasharray", "3 2")
                     : element("rect", "x", x, "y", y, "width", w, "height", h, "rx", 4, "fill",
                               hue_colour(212 + 360 * number / static_cast<double>(sharding_.parts.size()),
                                          0.62, 0.78));
    const double length = 0.55 * static_cast<double>(label.size());
    const double lying = std::min({15.0, w / length, h * 0.6}),
                 upright = std::min({15.0, h / length, w * 0.6});
    const double cx = x + w / 2, cy = y + h / 2;
    if (lying >= std::min(9.0, upright))
      return text + words(cx, cy + lying * 0.36, "middle", lying, kInk, label);
    return text + words(cx, cy + upright * 0.36, "middle", upright, kInk, label, "transform",
                        concat("rotate(-90 ", number_text(cx), " ", number_text(cy), ")"));
  }

  static std::string number_text(double value) { return svg::number(value); }

  std::string copies_text() const {
    const bool copies =
        std::ranges::any_of(sharding_.parts, [](const ArrayPart& part) { return part.devices.size() > 1; });
    return copies ? "Boxes of one colour are copies of the same part." : "";
  }

  // Names the devices that hold no part.
  std::string idle_text() const {
    ArrayPart idle = {{0, 1}, {0, 1}, {}};
    for (int device = 0; device < sharding_.devices; ++device)
      if (std::ranges::none_of(sharding_.parts, [&](const ArrayPart& part) {
            return std::ranges::count(part.devices, device) > 0;
          }))
        idle.devices.push_back(device);
    return idle.devices.empty() ? "" : holders_text(idle) + " holds nothing";
  }

  const Sharding& sharding_;
  std::vector<double> heights_, widths_;
  double height_ = 0;
};

}  // namespace

std::string shard_svg(const Sharding& sharding) { return ShardPicture(sharding).draw(); }

}  // namespace rondo::program
