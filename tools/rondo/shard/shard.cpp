#include <rondo/kernels/core/text.h>
#include <rondo/kernels/runtime/platform.h>
#include <rondo/tools/rondo/shard/shard.h>
#include <rondo/tools/rondo/support/format.h>
#include <rondo/tools/rondo/support/output_file.h>
#include <rondo/tools/rondo/support/text_table.h>

#include <algorithm>
#include <cmath>

namespace rondo::program {
namespace {

// A horizontal line between boxes: left end, crossing, right end.
struct Rule {
  const char *left, *cross, *right;
};
struct Strokes {
  Rule top, between, bottom;
  const char *along, *down;
};
constexpr Strokes kUnicode = {{"┌", "┬", "┐"}, {"├", "┼", "┤"}, {"└", "┴", "┘"}, "─", "│"};
constexpr Strokes kAscii = {{"+", "+", "+"}, {"+", "+", "+"}, {"+", "+", "+"}, "-", "|"};

// From the 256 colours of terminals: black text is readable on each, and adjacent ones differ.
constexpr int kBackgrounds[] = {117, 222, 157, 217, 183, 229, 123, 210};

std::string centred(const std::string& text, size_t width) {
  const size_t before = width > text.size() ? (width - text.size()) / 2 : 0;
  return left(std::string(before, ' ') + text, width);
}

class TextPicture {
 public:
  TextPicture(const Sharding& sharding, const Terminal& terminal)
      : sharding_(sharding), terminal_(terminal), strokes_(terminal.unicode ? kUnicode : kAscii) {
    const auto lines = std::clamp<int64_t>(4 * static_cast<int64_t>(sharding.part_rows()), 5, 12);
    for (size_t row = 0; row < sharding.part_rows(); ++row) {
      const int64_t size = sharding.at(row, 0).rows.size;
      margin_ = std::max(margin_, grouped(size).size());
      heights_.push_back(share(size, sharding.rows.size, lines, 1));
    }
    const size_t columns = sharding.parts_in_a_row;
    const auto frame = static_cast<int64_t>(margin_ + 2 + columns + 1);
    const int64_t room = std::min<int64_t>(terminal.width, kMostColumns) - frame;
    for (size_t column = 0; column < columns; ++column) {
      size_t least = grouped(sharding.at(0, column).columns.size).size();
      for (size_t row = 0; row < sharding.part_rows(); ++row)
        least = std::max(least, holders_text(sharding.at(row, column)).size());
      widths_.push_back(share(sharding.at(0, column).columns.size, sharding.columns.size, room, least + 2));
    }
  }

  std::string draw() const {
    std::string text = std::string(margin_ + 2, ' ');
    for (size_t column = 0; column < widths_.size(); ++column)
      text += " " + centred(grouped(sharding_.at(0, column).columns.size), widths_[column]);
    text.erase(text.find_last_not_of(' ') + 1);
    text += "\n" + rule(strokes_.top);
    for (size_t row = 0; row < heights_.size(); ++row) {
      if (row > 0) text += rule(strokes_.between);
      for (size_t line = 0; line < heights_[row]; ++line) text += line_of(row, line);
    }
    return text + rule(strokes_.bottom);
  }

 private:
  static constexpr int64_t kMostColumns = 100;

  static size_t share(int64_t size, int64_t whole, int64_t room, size_t least) {
    const double part = static_cast<double>(size) / static_cast<double>(whole);
    return std::max(least, static_cast<size_t>(std::max(0.0, std::round(part * static_cast<double>(room)))));
  }

  std::string rule(const Rule& ends) const {
    std::string text = std::string(margin_ + 2, ' ') + ends.left;
    for (size_t column = 0; column < widths_.size(); ++column) {
      if (column > 0) text += ends.cross;
      for (size_t i = 0; i < widths_[column]; ++i) text += strokes_.along;
    }
    return text + ends.right + "\n";
  }

  std::string line_of(size_t row, size_t line) const {
    const bool labelled = line == (heights_[row] - 1) / 2;
    const std::string size = labelled ? grouped(sharding_.at(row, 0).rows.size) : "";
    std::string text = right(size, margin_ + 1) + " " + strokes_.down;
    for (size_t column = 0; column < widths_.size(); ++column) {
      const ArrayPart& part = sharding_.at(row, column);
      const std::string label = centred(labelled ? holders_text(part) : "", widths_[column]);
      text += filled(part, row * widths_.size() + column, label) + strokes_.down;
    }
    return text + "\n";
  }

  std::string filled(const ArrayPart& part, size_t number, const std::string& text) const {
    if (!terminal_.colour || part.empty()) return text;
    const int background = kBackgrounds[number % std::size(kBackgrounds)];
    return concat("\x1b[30;48;5;", background, "m", text, "\x1b[0m");
  }

  const Sharding& sharding_;
  const Terminal& terminal_;
  const Strokes& strokes_;
  size_t margin_ = 0;
  std::vector<size_t> heights_, widths_;  // of the boxes' contents, in characters
};

std::string range(const nn::Shard& shard) {
  if (shard.size == 0) return "none";
  if (shard.size == 1) return grouped(shard.first);
  return grouped(shard.first) + " to " + grouped(shard.first + shard.size - 1);
}

// One line per device.
std::string table(const Sharding& sharding) {
  std::vector<TextRow> rows = {{"device", sharding.rows.name(), sharding.columns.name(), "bytes"}};
  for (int device = 0; device < sharding.devices; ++device) {
    TextRow row = {device_label(device), "none", "none", byte_size(0)};
    for (const ArrayPart& part : sharding.parts)
      if (std::ranges::count(part.devices, device) > 0)
        row = {row[0], range(part.rows), range(part.columns), byte_size(bytes_of(part))};
    rows.push_back(row);
  }
  TextStream out;
  show_table(rows, out, 3);
  return out.str();
}

}  // namespace

std::string holders_text(const ArrayPart& part) {
  std::string text;
  for (size_t i = 0, end; i < part.devices.size(); i = end) {
    for (end = i + 1; end < part.devices.size() && part.devices[end] == part.devices[end - 1] + 1;) ++end;
    if (end - i == 2) end = i + 1;  // "0,1" and not "0-1"
    text += text.empty() ? device_label(part.devices[i]) : "," + exact_text(part.devices[i]);
    if (end - i > 2) text += "-" + exact_text(part.devices[end - 1]);
  }
  return part.empty() ? text + " (nothing)" : text;
}

std::string size_text(const Sharding& sharding) {
  const ArrayPart all = {{0, sharding.rows.size}, {0, sharding.columns.size}, {}};
  return concat(grouped(sharding.rows.size), " ", sharding.rows.name(), " x ", grouped(sharding.columns.size),
                " ", sharding.columns.name(), ", ", byte_size(bytes_of(all)));
}

std::string shard_text(const Sharding& sharding, const Terminal& terminal) {
  return concat(sharding.title, ", on ", sharding.devices, sharding.devices == 1 ? " device" : " devices",
                ":\n", size_text(sharding), "\n\n", TextPicture(sharding, terminal).draw(), "\n",
                table(sharding));
}

void show_shard(const ShardArguments& arguments, std::ostream& out, const Terminal& terminal) {
  const Sharding sharding = sharding_of(arguments);
  const OutputFile picture("--svg", arguments.svg);
  out << shard_text(sharding, terminal);
  if (picture.wanted()) picture.write(shard_svg(sharding));
}

}  // namespace rondo::program
