// Compares the table and the picture of the ring with its schedule, cell by cell.
#include <gtest/gtest.h>
#include <rondo/collectives/ring_schedule.h>
#include <rondo/tests/rondo/support/files.h>
#include <rondo/tests/rondo/support/xml.h>
#include <rondo/tools/rondo/schedule/schedule.h>
#include <rondo/tools/rondo/schedule/schedule_svg.h>

#include <map>
#include <regex>
#include <set>
#include <sstream>

namespace rondo::program {
namespace {

using test::missing;
using test::XmlCheck;

// One transfer in the picture: its text, position and colour.
struct Cell {
  int step = 0, from = 0, chunk = 0, to = 0;
  int64_t bytes = 0;
  bool adds = false;
  std::string number;  // the text in it
  double x = 0, y = 0, filled = 0, height = 0;
  std::string colour;
};

std::string attribute(const std::string& text, const std::string& name) {
  const std::string key = " " + name + "=\"";
  const size_t at = text.find(key);
  return at == std::string::npos
             ? ""
             : text.substr(at + key.size(), text.find('"', at + key.size()) - at - key.size());
}

int64_t without_commas(std::string text) {
  std::erase(text, ',');
  return std::stoll(text);
}

Cell read_cell(const std::string& group) {
  static const std::regex full(
      R"(<title>step (\d+): rank (\d+) sends chunk (\d+) \(([\d,]+) bytes?, [^)]+\) )"
      R"(to rank (\d+), which (adds|keeps))");
  static const std::regex empty(
      R"(<title>step (\d+): rank (\d+) sends nothing to rank (\d+), chunk (\d+) is empty)");
  std::smatch m;
  Cell cell;
  if (std::regex_search(group, m, full)) {
    cell.chunk = std::stoi(m[3]);
    cell.bytes = without_commas(m[4]);
    cell.to = std::stoi(m[5]);
    cell.adds = m[6] == "adds";
  } else if (std::regex_search(group, m, empty)) {
    cell.to = std::stoi(m[3]);
    cell.chunk = std::stoi(m[4]);
  } else {
    ADD_FAILURE() << "what is this? " << group;
    return cell;
  }
  cell.step = std::stoi(m[1]);
  cell.from = std::stoi(m[2]);
  const size_t background = group.find("<rect"), fill = group.find("<rect", background + 1);
  const std::string outer = group.substr(background);
  cell.x = std::stod(attribute(outer, "x"));
  cell.y = std::stod(attribute(outer, "y"));
  cell.height = std::stod(attribute(outer, "height"));
  if (fill != std::string::npos) {
    cell.filled = std::stod(attribute(group.substr(fill), "height"));
    cell.colour = attribute(group.substr(fill), "fill");
  }
  const size_t text = group.find("<text");
  const size_t content = group.find('>', text) + 1;
  cell.number = group.substr(content, group.find('<', content) - content);
  return cell;
}

std::vector<Cell> read_cells(const std::string& svg) {
  std::vector<Cell> cells;
  for (size_t at = svg.find("<g><title>step "); at != std::string::npos;
       at = svg.find("<g><title>step ", at + 1))
    cells.push_back(read_cell(svg.substr(at, svg.find("</g>", at) - at)));
  return cells;
}

constexpr int64_t kSizes[] = {0, 1, 100, 4096, 16 << 20, 1'000'003};

TEST(ScheduleSvg, EveryCellMatchesTheSchedule) {
  for (const int ranks : {1, 2, 3, 4, 7, 8, 17, 64})
    for (const int64_t bytes : kSizes) {
      const std::string svg = schedule_svg(ranks, bytes);
      ASSERT_EQ(XmlCheck::fault(svg), "");
      const std::vector<Cell> cells = read_cells(svg);
      ASSERT_EQ(cells.size(), static_cast<size_t>(ranks * ring::steps(ranks)));
      std::set<std::pair<int, int>> seen;
      for (const Cell& cell : cells) {
        ASSERT_TRUE(seen.insert({cell.step, cell.from}).second);
        ASSERT_EQ(cell.chunk, ring::sent_chunk(cell.from, cell.step, ranks));
        ASSERT_EQ(cell.chunk, ring::received_chunk(cell.to, cell.step, ranks));
        ASSERT_EQ(cell.to, ring::next_position(cell.from, ranks));
        ASSERT_EQ(cell.number, std::to_string(cell.chunk));
        ASSERT_EQ(cell.bytes, ring::chunk_of(bytes, ranks, cell.chunk, 1).size);
        if (cell.bytes > 0) {
          ASSERT_EQ(cell.adds, ring::phase_of(cell.step, ranks) == ring::Phase::reduce_scatter);
        }
      }
    }
}

// Rows are ranks, columns are steps, each chunk has one colour. The filled part of a cell is the share of
// ranks in the sum.
TEST(ScheduleSvg, PositionColourAndFillMatchTheSchedule) {
  const int ranks = 6;
  const std::vector<Cell> cells = read_cells(schedule_svg(ranks, 6000));
  std::map<int, double> rows, columns;
  std::map<int, std::string> colours;
  for (const Cell& cell : cells) {
    ASSERT_EQ(rows.try_emplace(cell.from, cell.y).first->second, cell.y);
    ASSERT_EQ(columns.try_emplace(cell.step, cell.x).first->second, cell.x);
    ASSERT_EQ(colours.try_emplace(cell.chunk, cell.colour).first->second, cell.colour);
    const int shares = std::min(cell.step + 1, ranks);
    ASSERT_NEAR(cell.filled, cell.height * shares / ranks, 0.02);
  }
  for (int rank = 1; rank < ranks; ++rank) ASSERT_GT(rows[rank], rows[rank - 1]);
  for (int step = 1; step < ring::steps(ranks); ++step) ASSERT_GT(columns[step], columns[step - 1]);
  std::set<std::string> different;
  for (const auto& [chunk, colour] : colours) different.insert(colour);
  EXPECT_EQ(different.size(), 6u);
}

TEST(ScheduleSvg, SixtyFourColours) {
  std::set<std::string> colours;
  for (const Cell& cell : read_cells(schedule_svg(64, 1 << 20))) colours.insert(cell.colour);
  EXPECT_EQ(colours.size(), 64u);
}

TEST(ScheduleSvg, StaysOnThePage) {
  for (const int ranks : {2, 3, 16, 17, 64}) {
    const std::string svg = schedule_svg(ranks, 1 << 20);
    const double width = std::stod(attribute(svg, "width")), height = std::stod(attribute(svg, "height"));
    for (const Cell& cell : read_cells(svg)) {
      ASSERT_TRUE(cell.x > 0 && cell.x < width - 10) << cell.x;
      ASSERT_TRUE(cell.y > 100 && cell.y + cell.height < height - 100) << cell.y;
    }
  }
}

// The table of collectives/README.md, transposed: here, rows are ranks.
TEST(ScheduleText, FourRanks) {
  EXPECT_EQ(schedule_text(4, 4096),
            "Ring all-reduce of 4 KiB over 4 ranks: 6 steps, 4 chunks of 1 KiB\n"
            "At step s rank r sends chunk r - s (mod 4) to rank r + 1.\n\n"
            "reduce-scatter: the receiver adds its share\n"
            "step    0 1 2\n"
            "0 -> 1  0 3 2\n"
            "1 -> 2  1 0 3\n"
            "2 -> 3  2 1 0\n"
            "3 -> 0  3 2 1\n\n"
            "all-gather: the receiver keeps the finished chunk\n"
            "step    3 4 5\n"
            "0 -> 1  1 0 3\n"
            "1 -> 2  2 1 0\n"
            "2 -> 3  3 2 1\n"
            "3 -> 0  0 3 2\n");
}

TEST(ScheduleText, EmptyChunksAndOneRank) {
  EXPECT_EQ(missing(schedule_text(3, 20), {"chunk 0 of 16 bytes, chunk 1 of 4 bytes, chunk 2 empty",
                                           "-: an empty chunk", "2 -> 0  - 1"}),
            "");
  EXPECT_EQ(missing(schedule_text(1, 20), {"1 rank: 0 steps", "nothing to send"}), "");
  EXPECT_EQ(schedule_text(4, 4096).find("empty"), std::string::npos);
  EXPECT_EQ(chunk_sizes(4, 0), "chunks 0 to 3 empty");
}

// Wide tables are split into blocks. Every rank has a row in each block, and no step is missing.
TEST(ScheduleText, LinesStayShort) {
  const std::string text = schedule_text(64, 1 << 20);
  std::istringstream lines(text);
  size_t numbers = 0;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 100u);
    if (line.find(" -> ") != std::string::npos) {
      std::istringstream words(line);
      for (std::string word; words >> word;) ++numbers;
      numbers -= 3;
    }
  }
  EXPECT_EQ(numbers, 64u * 126);
}

}  // namespace
}  // namespace rondo::program
