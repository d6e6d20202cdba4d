#include <rondo/kernels/core/status.h>
#include <rondo/tools/rondo/banks/banks.h>
#include <rondo/tools/rondo/pictures/svg.h>

#include <functional>

namespace rondo::program {
namespace {

using namespace svg;

constexpr double kLeft = 150, kTop = 136, kCellWidth = 30, kCellHeight = 22, kRight = 44, kBottom = 44;
constexpr double kLeastWidth = 860;

std::string list(const Lanes& lanes) {
  std::string text = lanes.size() == 1 ? "thread " : "threads ";
  for (const int lane : lanes) text += (lane == lanes[0] ? "" : ", ") + std::to_string(lane);
  return text;
}

// Rows of cells, each with the first of its threads and in that thread's colour.
struct Grid {
  std::string title, summary;
  std::string row_name, column_name;
  std::vector<std::string> columns, labels;
  std::vector<std::vector<Lanes>> rows;
  std::function<std::string(size_t row, size_t column)> name_of;  // of a cell, in its tooltip

  std::string draw() const {
    const double width = kLeft + kCellWidth * static_cast<double>(columns.size()) + kRight;
    std::string text = words(44, 46, "start", 20, kInk, title, "font-weight", "700") +
                       words(44, 71, "start", 14, kSoftInk, summary) +
                       words(kLeft, kTop - 30, "start", 13, kInk, column_name) +
                       words(44, kTop - 10, "start", 13, kInk, row_name);
    for (size_t column = 0; column < columns.size(); ++column)
      text += words(x_of(column) + kCellWidth / 2, kTop - 10, "middle", 12, kSoftInk, columns[column]);
    for (size_t row = 0; row < rows.size(); ++row) {
      text += words(44, y_of(row) + 15, "start", 12, kSoftInk, labels[row]);
      for (size_t column = 0; column < columns.size(); ++column) text += cell(row, column);
    }
    return document(title, std::max(width, kLeastWidth), y_of(rows.size()) + kBottom, text);
  }

 private:
  static double x_of(size_t column) { return kLeft + kCellWidth * static_cast<double>(column); }
  static double y_of(size_t row) { return kTop + kCellHeight * static_cast<double>(row); }

  std::string cell(size_t row, size_t column) const {
    const Lanes& lanes = rows[row][column];
    const double x = x_of(column), y = y_of(row), w = kCellWidth - 2, h = kCellHeight - 2;
    if (lanes.empty())
      return element("rect", "x", x, "y", y, "width", w, "height", h, "rx", 3, "fill", "#ffffff", "stroke",
                     kGrid);
    return "<g><title>" + escaped(name_of(row, column) + ": " + list(lanes)) + "</title>\n" +
           element("rect", "x", x, "y", y, "width", w, "height", h, "rx", 3, "fill",
                   hue_colour(360.0 * lanes[0] / 32, 0.62, lanes[0] % 2 == 0 ? 0.84 : 0.76)) +
           words(x + w / 2, y + 14.5, "middle", 12, kInk,
                 std::to_string(lanes[0]) + (lanes.size() > 1 ? "+" : "")) +
           "</g>\n";
  }
};

}  // namespace

std::string banks_svg(const AccessArguments& arguments) {
  const simt::WarpAccess access = access_of(arguments);
  Grid grid{
      .title = banks_title(arguments),
      .summary = banks_summary(arguments, access),
      .row_name = "wavefront",
      .column_name = "bank",
      .columns = {},
      .labels = {},
      .rows = {},
      .name_of = [](size_t row, size_t bank) { return concat("wavefront ", row + 1, ", bank ", bank); }};
  for (int bank = 0; bank < simt::kBanks; ++bank) grid.columns.push_back(std::to_string(bank));
  for (const BankRow& row : bank_rows(access, arguments.store)) {
    grid.labels.push_back(concat(grid.labels.size() + 1, ": ", row.first_lane, "-", row.last_lane));
    grid.rows.emplace_back(row.lanes.begin(), row.lanes.end());
  }
  return grid.draw();
}

std::string sectors_svg(const AccessArguments& arguments) {
  const simt::WarpAccess access = access_of(arguments);
  const std::vector<SectorRow> sectors = sector_rows(access);
  const auto cell = static_cast<size_t>(cell_bytes(access));
  Grid grid{.title = sectors_title(arguments),
            .summary = sectors_summary(access),
            .row_name = "sector",
            .column_name = "byte",
            .columns = {},
            .labels = {},
            .rows = {},
            .name_of = [&](size_t row, size_t column) {
              return concat("address ", sectors[row].address + column * cell);
            }};
  for (size_t byte = 0; byte < simt::kSectorBytes; byte += cell) grid.columns.push_back(std::to_string(byte));
  for (const SectorRow& sector : sectors) {
    grid.labels.push_back(std::to_string(sector.address));
    grid.rows.push_back(sector.cells);
  }
  return grid.draw();
}

}  // namespace rondo::program
