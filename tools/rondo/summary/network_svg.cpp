#include <rondo/kernels/core/text.h>
#include <rondo/tools/rondo/pictures/svg.h>
#include <rondo/tools/rondo/summary/network_layout.h>
#include <rondo/tools/rondo/summary/network_svg.h>
#include <rondo/tools/rondo/support/format.h>

#include <algorithm>

namespace rondo::program {
namespace {

using namespace svg;

constexpr double kLeft = 44, kTop = 104, kWidth = 288, kHeight = 42, kRow = 60;
constexpr double kLane = 30;                        // distance of a line that passes boxes
constexpr double kColumn = kWidth + 2 * kLane + 6;  // distance of columns

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
      : layout_(lay_out(graph)), title_(model + ": " + grouped(graph.parameter_count()) + " parameters") {}

  std::string draw() const {
    std::string text = words(kLeft, 46, "start", 22, kInk, title_, "font-weight", "700") +
                       words(kLeft, 71, "start", 14, kSoftInk, "output of each operation, for one sample");
    for (const NetworkEdge& edge : layout_.edges) text += line(edge);
    for (const NetworkBox& box : layout_.boxes) text += drawn(box);
    const double width = std::max(520.0, kLeft + (layout_.columns - 1) * kColumn + kWidth + 2 * kLane + 14);
    return document(title_, width, kTop + layout_.rows * kRow + 26, text);
  }

 private:
  static double x(const NetworkBox& box) { return kLeft + box.column * kColumn; }
  static double y(const NetworkBox& box) { return kTop + box.row * kRow; }

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

  static std::string drawn(const NetworkBox& box) {
    const double left = x(box), top = y(box), middle = left + kWidth / 2;
    std::string what = box.of.layer, shape = text(box.of.output);
    if (box.times > 1) what += ", " + exact_text(box.times) + " times";
    if (box.of.parameters > 0)
      shape += ", " + grouped(box.of.parameters) + " parameters" + (box.times > 1 ? " each" : "");
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
};

}  // namespace

std::string network_svg(const std::string& model, const nn::Graph& graph) {
  return NetworkPicture(model, graph).draw();
}

}  // namespace rondo::program
