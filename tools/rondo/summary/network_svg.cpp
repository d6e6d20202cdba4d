#include <rondo/kernels/core/text.h>
#include <rondo/tools/rondo/pictures/svg.h>
#include <rondo/tools/rondo/summary/network_layout.h>
#include <rondo/tools/rondo/summary/network_svg.h>
#include <rondo/tools/rondo/support/format.h>

#include <algorithm>

namespace rondo::program {
namespace {

using namespace svg;

constexpr double kLeft = 44, kTop = 104, kWidth = 336, kHeight = 42, kRow = 60;
constexpr double kLane = 30;                        // distance of a line that passes boxes
constexpr double kColumn = kWidth + 2 * kLane + 6;  // distance of columns
constexpr int kMostRows = 14;                       // of a strip, if the network can be cut there

// The colour of a kind of operation; convolutions and linear layers, with most parameters, share one.
std::string colour_of(const std::string& layer) {
  const std::string first = layer.substr(0, layer.find_first_of(" ,"));
  const auto is = [&](const char* name) { return first == name; };
  if (is("conv") || is("linear")) return hue_colour(212, 0.62, 0.84);
  if (is("batch")) return hue_colour(265, 0.50, 0.88);
  if (is("average") || is("maximum")) return hue_colour(150, 0.45, 0.84);
  if (is("add")) return hue_colour(38, 0.85, 0.80);
  return hue_colour(212, 0.10, 0.93);
}

class NetworkPicture {
 public:
  NetworkPicture(const std::string& model, const nn::Graph& graph)
      : layout_(lay_out(graph)), title_(model + ": " + grouped(graph.parameter_count()) + " parameters") {
    make_strips();
  }

  std::string draw() const {
    std::string text = words(kLeft, 46, "start", 22, kInk, title_, "font-weight", "700") +
                       words(kLeft, 71, "start", 14, kSoftInk, "output of each operation, for one sample");
    for (const NetworkBlock& block : layout_.blocks) text += frame(block);
    for (const NetworkEdge& edge : layout_.edges) text += line(edge);
    for (const NetworkBox& box : layout_.boxes) text += drawn(box);
    int rows = 0;
    for (const Strip& strip : strips_) rows = std::max(rows, strip.end - strip.first);
    return document(title_, std::max(520.0, width_), kTop + rows * kRow + 26, text);
  }

 private:
  // Rows [first, end), beside the other strips.
  struct Strip {
    int first, end;
    double left;
  };

  // Cuts the rows into strips of about equal length.
  void make_strips() {
    const int count = (layout_.rows - 1) / kMostRows + 1, wanted = (layout_.rows - 1) / count + 1;
    double left = kLeft;
    for (int first = 0, end; first < layout_.rows; first = end) {
      end = std::min(first + wanted, layout_.rows);
      while (end < layout_.rows && !is_cut(end)) ++end;
      int columns = 1;
      for (const NetworkBox& box : layout_.boxes)
        if (box.row >= first && box.row < end) columns = std::max(columns, box.column + 1);
      strips_.push_back({first, end, left});
      left += columns * kColumn + kLane;
    }
    width_ = left;
  }
  bool is_cut(int row) const {
    // All lines that are cut begin at the box above.
    for (const NetworkEdge& edge : layout_.edges) {
      const NetworkBox &from = layout_.boxes[edge.from], &to = layout_.boxes[edge.to];
      if (from.row < row && to.row >= row && (from.row + 1 < row || from.column > 0)) return false;
    }
    return std::ranges::none_of(layout_.blocks, [&](const NetworkBlock& block) {
      return layout_.boxes[block.first].row < row && row <= layout_.boxes[block.end - 1].row;
    });
  }

  const Strip& strip_of(const NetworkBox& box) const {
    return *std::ranges::find_if(strips_, [&](const Strip& strip) { return box.row < strip.end; });
  }
  double x(const NetworkBox& box) const { return strip_of(box).left + box.column * kColumn; }
  double y(const NetworkBox& box) const { return kTop + (box.row - strip_of(box).first) * kRow; }

  // Around the boxes of a block that is repeated.
  std::string frame(const NetworkBlock& block) const {
    const NetworkBox &first = layout_.boxes[block.first], &last = layout_.boxes[block.end - 1];
    int columns = 1;
    for (size_t i = block.first; i < block.end; ++i) columns = std::max(columns, layout_.boxes[i].column + 1);
    const double left = x(first) - 12, top = y(first) - 9, height = y(last) + kHeight + 10 - top,
                 width = (columns - 1) * kColumn + kWidth + kLane + 24;
    return element("rect", "x", left, "y", top, "width", width, "height", height, "rx", 10, "fill", "#f6f8fa",
                   "stroke", kAxis, "stroke-dasharray", "6 4") +
           words(left + width + 8, top + 17, "start", 13, kInk, concat(block.times, " times"), "font-weight",
                 "700");
  }

  // A straight line to the next row; otherwise to the right, past the boxes between, and back.
  std::string line(const NetworkEdge& edge) const {
    const NetworkBox &from = layout_.boxes[edge.from], &to = layout_.boxes[edge.to];
    const double x1 = x(from) + kWidth / 2, y1 = y(from) + kHeight, x2 = x(to) + kWidth / 2, y2 = y(to);
    const double side1 = x(from) + kWidth, side2 = x(to) + kWidth;
    // Outgoing lines leave below incoming lines, so that they do not overlap.
    const double middle1 = y(from) + kHeight * 0.7, middle2 = y(to) + kHeight * 0.3;
    const auto path = [](const auto&... parts) {
      return element("path", "d", concat(parts...), "fill", "none", "stroke", kSoftInk, "stroke-width", 1.6);
    };
    const auto at = [](double px, double py) { return number(px) + " " + number(py); };
    const std::string head =
        element("path", "d", "M " + at(x2 - 4, y2 - 7) + " L " + at(x2, y2) + " L " + at(x2 + 4, y2 - 7),
                "fill", "none", "stroke", kSoftInk, "stroke-width", 1.6);
    if (const Strip& strip = strip_of(to); strip.left > strip_of(from).left) {
      const std::string begin =
          concat("M ", at(x1, y1), " V ", number(y1 + 14), " H ", number(strip.left - kLane));
      if (to.row == strip.first)
        return path(begin, " V ", number(kTop - 18), " H ", number(x2), " V ", number(y2)) + head;
      const double side = x(to);
      return path(begin, " V ", number(middle2), " H ", number(side)) +
             element("path", "d",
                     "M " + at(side - 7, middle2 - 4) + " L " + at(side, middle2) + " L " +
                         at(side - 7, middle2 + 4),
                     "fill", "none", "stroke", kSoftInk, "stroke-width", 1.6);
    }
    if (from.column == to.column && to.row == from.row + 1)
      return path("M ", at(x1, y1), " L ", at(x2, y2)) + head;
    if (from.column < to.column)
      return path("M ", at(side1, middle1), " H ", number(x2), " V ", number(y2)) + head;
    const std::string left_head = element(
        "path", "d",
        "M " + at(side2 + 7, middle2 - 4) + " L " + at(side2, middle2) + " L " + at(side2 + 7, middle2 + 4),
        "fill", "none", "stroke", kSoftInk, "stroke-width", 1.6);
    if (from.column > to.column)
      return path("M ", at(x1, y1), " V ", number(middle2), " H ", number(side2)) + left_head;
    return path("M ", at(side1, middle1), " H ", number(side1 + kLane), " V ", number(middle2), " H ",
                number(side2)) +
           left_head;
  }

  std::string drawn(const NetworkBox& box) const {
    const double left = x(box), top = y(box), middle = left + kWidth / 2;
    std::string what = box.of.layer, shape = text(box.of.output);
    int64_t parameters = box.of.parameters;
    for (const nn::SummaryRow& row : box.then) {
      what += ", " + row.layer;
      parameters += row.parameters;
    }
    if (box.times > 1) what += ", " + exact_text(box.times) + " times";
    if (parameters > 0) shape += ", " + grouped(parameters) + " parameters" + (box.times > 1 ? " each" : "");
    std::string svg =
        "<g><title>" + escaped((box.of.name.empty() ? "" : box.of.name + ": ") + what) + "</title>\n";
    if (box.times > 1)  // a second box behind
      svg += element("rect", "x", left + 5, "y", top + 5, "width", kWidth, "height", kHeight, "rx", 6, "fill",
                     colour_of(what), "stroke", kAxis);
    svg += element("rect", "x", left, "y", top, "width", kWidth, "height", kHeight, "rx", 6, "fill",
                   colour_of(what), "stroke", kAxis) +
           words(middle, top + 18, "middle", 13.5, kInk, what, "font-weight", "600") +
           words(middle, top + 34, "middle", 11.5, kSoftInk, shape);
    return svg + "</g>\n";
  }

  NetworkLayout layout_;
  std::string title_;
  std::vector<Strip> strips_;
  double width_ = 0;
};

}  // namespace

std::string network_svg(const std::string& model, const nn::Graph& graph) {
  return NetworkPicture(model, graph).draw();
}

}  // namespace rondo::program
