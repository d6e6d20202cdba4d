#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/text.h>
#include <rondo/tools/rondo/banks/banks.h>
#include <rondo/tools/rondo/support/format.h>
#include <rondo/tools/rondo/support/output_file.h>

#include <algorithm>
#include <functional>

namespace rondo::program {
namespace {

constexpr size_t kCell = 3;  // characters: "31", and a mark if several lanes share the cell

std::string cell_text(const Lanes& lanes) {
  if (lanes.empty()) return right(".", kCell - 1) + " ";
  return right(exact_text(lanes[0]), kCell - 1) + (lanes.size() > 1 ? "+" : " ");
}

// A table with a label before each row of cells. A terminal that is too narrow for all columns gets the left
// half above the right half.
struct Table {
  std::vector<std::string> labels, header;
  std::vector<std::vector<std::string>> rows;  // of cells
  std::function<Ink(size_t row)> ink;

  std::string text(const Terminal& terminal) const {
    size_t margin = 0;
    for (const std::string& label : labels) margin = std::max(margin, label.size() + 2);
    const bool narrow = terminal.interactive &&
                        margin + kCell * header.size() > static_cast<size_t>(std::max(terminal.width, 1));
    const size_t columns = narrow ? header.size() / 2 : header.size();
    std::string text;
    for (size_t first = 0; first < header.size(); first += columns) {
      const auto line = [&](const std::string& label, const std::vector<std::string>& cells) {
        std::string line = left(label, margin);
        for (size_t i = first; i < first + columns; ++i) line += cells[i];
        return line.substr(0, line.find_last_not_of(' ') + 1);
      };
      text += (first > 0 ? "\n" : "") + line(labels[0], header) + "\n";
      for (size_t row = 0; row < rows.size(); ++row)
        text += inked(terminal, ink(row), line(labels[row + 1], rows[row])) + "\n";
    }
    return text;
  }
};

std::string header_cell(int number) { return right(exact_text(number), kCell - 1) + " "; }

std::string banks_table(const AccessDrawing& drawing, const Terminal& terminal) {
  const std::vector<BankRow> rows = bank_rows(drawing.access, drawing.store);
  Table table;
  table.labels = {"bank"};
  for (int bank = 0; bank < simt::kBanks; ++bank) table.header.push_back(header_cell(bank));
  for (const BankRow& row : rows) {
    table.labels.push_back(concat(table.labels.size(), ": ", row.first_lane, "-", row.last_lane));
    table.rows.emplace_back();
    for (const Lanes& lanes : row.lanes) table.rows.back().push_back(cell_text(lanes));
  }
  table.ink = [&](size_t row) { return rows[row].conflict ? Ink::accent : Ink::plain; };
  return table.text(terminal) +
         "\nA row is a wavefront, with the threads of its pass. A cell is the thread that the bank serves;\n"
         "+: and others that access the same word; .: idle.\n";
}

std::string sectors_table(const AccessDrawing& drawing, const Terminal& terminal) {
  const std::vector<SectorRow> rows = sector_rows(drawing.access);
  const int cell = cell_bytes(drawing.access);
  Table table;
  table.labels = {"address"};
  for (int byte = 0; byte < simt::kSectorBytes; byte += cell) table.header.push_back(header_cell(byte));
  for (const SectorRow& row : rows) {
    table.labels.push_back(exact_text(row.address));
    table.rows.emplace_back();
    for (const Lanes& lanes : row.cells) table.rows.back().push_back(cell_text(lanes));
  }
  table.ink = [](size_t) { return Ink::plain; };
  return table.text(terminal) +
         concat("\nA row is a sector of 32 bytes. A cell is the thread that accesses its ",
                cell == 1 ? "byte" : concat(cell, " bytes"), ";\n+: and others; .: not asked for.\n");
}

// `verb`: "loads", "stores" or "accesses".
std::string access_title(const AccessArguments& arguments, const std::string& verb) {
  const auto bytes = [](int count) { return concat(count, count == 1 ? " byte" : " bytes"); };
  return concat("A warp ", verb, " ", bytes(arguments.width), " per thread at index ",
                arguments.index->text(), " (elements of ", bytes(arguments.element_bytes()), ")");
}

void show(const AccessArguments& arguments, const AccessDrawing& drawing,
          std::string (*write_json)(const AccessArguments&), std::ostream& out, const Terminal& terminal) {
  const OutputFile svg("--svg", arguments.svg), json("--json", arguments.json);
  out << drawing_text(drawing, terminal);
  if (svg.wanted()) svg.write(drawings_svg({drawing}));
  if (json.wanted()) json.write(write_json(arguments));
}

}  // namespace

std::string AccessDrawing::summary() const {
  if (!shared) {
    const int64_t asked = bytes_requested(access),
                  moved = int64_t{simt::kSectorBytes} * simt::global_sectors(access);
    return concat("sectors ", simt::global_sectors(access), ", at least ", simt::least_global_sectors(access),
                  ": ", counted(moved, "byte"), " moved for ", asked, " asked for, efficiency ",
                  fixed(100 * static_cast<double>(asked) / static_cast<double>(moved), 1), " %");
  }
  const simt::SharedCost cost = store ? simt::shared_store(access) : simt::shared_load(access);
  const std::string counts = concat("wavefronts ", cost.wavefronts, ", at least ", cost.least);
  if (cost.conflicts() == 0) return counts + ": no bank conflicts";
  return concat(counts, ": ", cost.conflicts(), cost.conflicts() == 1 ? " bank conflict" : " bank conflicts",
                ", ", conflict_degree(bank_rows(access, store)), "-way");
}

AccessDrawing banks_drawing(const AccessArguments& arguments) {
  return {.title = access_title(arguments, arguments.store ? "stores" : "loads"),
          .subtitle = "",
          .access = access_of(arguments),
          .shared = true,
          .store = arguments.store};
}

AccessDrawing sectors_drawing(const AccessArguments& arguments) {
  return {.title = access_title(arguments, "accesses"), .subtitle = "", .access = access_of(arguments)};
}

std::string drawing_text(const AccessDrawing& drawing, const Terminal& terminal) {
  return drawing.title + (drawing.subtitle.empty() ? "" : "\n" + drawing.subtitle) + ":\n\n" +
         (drawing.shared ? banks_table(drawing, terminal) : sectors_table(drawing, terminal)) + "\n" +
         drawing.summary() + "\n";
}

void show_banks(const AccessArguments& arguments, std::ostream& out, const Terminal& terminal) {
  show(arguments, banks_drawing(arguments), banks_json, out, terminal);
}

void show_sectors(const AccessArguments& arguments, std::ostream& out, const Terminal& terminal) {
  show(arguments, sectors_drawing(arguments), sectors_json, out, terminal);
}

}  // namespace rondo::program
