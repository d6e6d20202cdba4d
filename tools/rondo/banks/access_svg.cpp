#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/text.h>
#include <rondo/tools/rondo/banks/banks.h>
#include <rondo/tools/rondo/pictures/svg.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace rondo::program {
namespace {

using namespace svg;

constexpr double kLeft = 150, kTop = 136, kCellWidth = 30, kCellHeight = 22, kRight = 44, kBottom = 104,
                 kSubtitle = 22;
constexpr double kLeastWidth = 860;

std::string list(const Lanes& lanes) {
  std::string text = lanes.size() == 1 ? "thread " : "threads ";
  for (const int lane : lanes) text += (lane == lanes[0] ? "" : ", ") + exact_text(lane);
  return text;
}

// From 0, what every access needs, to 1: from blue over yellow to red.
std::string heat_colour(double heat) {
  if (heat <= 0) return hue_colour(212, 0.60, 0.84);
  return hue_colour(46 - 40 * heat, 0.88, 0.80 - 0.18 * heat);
}

// A colour of the legend.
struct Swatch {
  double heat;
  std::string name;
};

// Rows of cells, each with the first of its threads. The colour of a row grows with what it costs in vain.
struct Grid {
  const AccessDrawing& drawing;
  std::string row_name, column_name;
  std::vector<std::string> columns, labels;
  std::vector<std::vector<Lanes>> rows;
  std::vector<double> heat;                                       // of each row
  std::function<std::string(size_t row, size_t column)> name_of;  // of a cell, in its tooltip
  std::string caption, colours;                                   // what a cell is, and what its colour means
  std::vector<Swatch> legend;

  double width() const {
    constexpr double kTitleCharacter = 11.5, kCharacter = 7.5;  // about their widths
    return std::max({88 + 7.6 * static_cast<double>(caption.size()),
                     kLeft + kCellWidth * static_cast<double>(columns.size()) + kRight,
                     88 + kTitleCharacter * static_cast<double>(drawing.title.size()),
                     88 + kCharacter * static_cast<double>(drawing.subtitle.size())});
  }
  double height() const { return head() + kCellHeight * static_cast<double>(rows.size()) + kBottom; }

  // At `top` of the picture.
  std::string draw(double top) const {
    const double first = top + head();  // of the cells
    std::string text = words(44, top + 46, "start", 20, kInk, drawing.title, "font-weight", "700");
    if (!drawing.subtitle.empty()) text += words(44, top + 71, "start", 14, kSoftInk, drawing.subtitle);
    text += words(44, first - 65, "start", 14, kSoftInk, drawing.summary()) +
            words(kLeft, first - 30, "start", 13, kInk, column_name) +
            words(44, first - 10, "start", 13, kInk, row_name);
    for (size_t column = 0; column < columns.size(); ++column)
      text += words(x_of(column) + kCellWidth / 2, first - 10, "middle", 12, kSoftInk, columns[column]);
    for (size_t row = 0; row < rows.size(); ++row) {
      const double y = first + kCellHeight * static_cast<double>(row);
      text += words(44, y + 15, "start", 12, kSoftInk, labels[row]);
      for (size_t column = 0; column < columns.size(); ++column) text += cell(row, column, y);
    }
    return text + below(first + kCellHeight * static_cast<double>(rows.size()));
  }

 private:
  double head() const { return drawing.subtitle.empty() ? kTop : kTop + kSubtitle; }
  static double x_of(size_t column) { return kLeft + kCellWidth * static_cast<double>(column); }

  std::string below(double y) const {
    std::string text =
        words(44, y + 32, "start", 14, kInk, caption) + words(44, y + 60, "start", 14, kInk, colours);
    double x = 56 + 7.6 * static_cast<double>(colours.size());
    for (const Swatch& swatch : legend) {
      text += element("circle", "cx", x + 8, "cy", y + 55, "r", 8, "fill", heat_colour(swatch.heat)) +
              words(x + 22, y + 60, "start", 14, kSoftInk, swatch.name);
      x += 44 + 7.6 * static_cast<double>(swatch.name.size());
    }
    return text;
  }

  std::string cell(size_t row, size_t column, double y) const {
    const Lanes& lanes = rows[row][column];
    const double x = x_of(column), w = kCellWidth - 2, h = kCellHeight - 2;
    if (lanes.empty())
      return element("rect", "x", x, "y", y, "width", w, "height", h, "rx", 3, "fill", "#ffffff", "stroke",
                     kGrid);
    return "<g><title>" + escaped(name_of(row, column) + ": " + list(lanes)) + "</title>\n" +
           element("rect", "x", x, "y", y, "width", w, "height", h, "rx", 3, "fill", heat_colour(heat[row])) +
           words(x + w / 2, y + 14.5, "middle", 12, kInk,
                 exact_text(lanes[0]) + (lanes.size() > 1 ? "+" : "")) +
           "</g>\n";
  }
};

// Of a wavefront of a pass after `before` others, at most 31.
double conflict_heat(int before) { return std::log2(1 + before) / 5; }

Grid banks_grid(const AccessDrawing& drawing) {
  Grid grid{
      .drawing = drawing,
      .row_name = "wavefront",
      .column_name = "bank",
      .columns = {},
      .labels = {},
      .rows = {},
      .heat = {},
      .name_of = [](size_t row, size_t bank) { return concat("wavefront ", row + 1, ", bank ", bank); },
      .caption =
          "A cell: one bank, 4 bytes wide, in one wavefront. Number: the first thread that it serves; +: "
          "others access the same word.",
      .colours = "Wavefront of its pass:",
      .legend = {{0, "1st, needed"},
                 {conflict_heat(1), "2nd"},
                 {conflict_heat(3), "4th"},
                 {conflict_heat(7), "8th"},
                 {conflict_heat(31), "32nd: 32-way conflict"}}};
  for (int bank = 0; bank < simt::kBanks; ++bank) grid.columns.push_back(exact_text(bank));
  int before = 0;  // wavefronts of the same pass
  for (const BankRow& row : bank_rows(drawing.access, drawing.store)) {
    grid.labels.push_back(concat(grid.labels.size() + 1, ": ", row.first_lane, "-", row.last_lane));
    grid.rows.emplace_back(row.lanes.begin(), row.lanes.end());
    before = row.conflict ? before + 1 : 0;
    grid.heat.push_back(conflict_heat(before));
  }
  return grid;
}

Grid sectors_grid(const AccessDrawing& drawing) {
  const std::vector<SectorRow> sectors = sector_rows(drawing.access);
  const auto cell = static_cast<size_t>(cell_bytes(drawing.access));
  Grid grid{
      .drawing = drawing,
      .row_name = "sector",
      .column_name = "byte",
      .columns = {},
      .labels = {},
      .rows = {},
      .heat = {},
      .name_of = [=](size_t row,
                     size_t column) { return concat("address ", sectors[row].address + column * cell); },
      .caption = concat("A row: a sector of 32 bytes that is moved. A cell: ", counted(cell, "byte"),
                        " of it. Number: the first thread that accesses it; +: others do, too."),
      .colours = "Bytes of the sector that no thread accesses:",
      .legend = {{0, "none"}, {0.25, "a quarter"}, {0.5, "half"}, {0.875, "28 of 32"}}};
  for (size_t byte = 0; byte < simt::kSectorBytes; byte += cell) grid.columns.push_back(exact_text(byte));
  for (const SectorRow& sector : sectors) {
    grid.labels.push_back(exact_text(sector.address));
    grid.rows.push_back(sector.cells);
    const auto unused = std::ranges::count_if(sector.cells, [](const Lanes& lanes) { return lanes.empty(); });
    grid.heat.push_back(static_cast<double>(unused) / static_cast<double>(sector.cells.size()));
  }
  return grid;
}

}  // namespace

std::string drawings_svg(const std::vector<AccessDrawing>& drawings) {
  double width = kLeastWidth, height = 0;
  std::string text;
  for (const AccessDrawing& drawing : drawings) {
    const Grid grid = drawing.shared ? banks_grid(drawing) : sectors_grid(drawing);
    text += grid.draw(height);
    width = std::max(width, grid.width());
    height += grid.height();
  }
  return document(drawings.empty() ? "" : drawings.front().title, width, height, text);
}

}  // namespace rondo::program
