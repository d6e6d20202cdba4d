// `rondo banks` and `rondo sectors`: the drawings, and that they agree with the counts.
#include <gtest/gtest.h>
#include <rondo/tests/rondo/support/command_line.h>
#include <rondo/tests/rondo/support/files.h>
#include <rondo/tests/rondo/support/xml.h>
#include <rondo/tools/rondo/banks/banks.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <regex>
#include <set>
#include <sstream>

namespace rondo::program {
namespace {

using test::error_of;
using test::missing;
using test::XmlCheck;

AccessArguments access(const std::string& command, const std::string& expression,
                       const std::vector<std::string>& options) {
  std::vector<std::string> words = {command, expression};
  words.insert(words.end(), options.begin(), options.end());
  return parse_as<AccessArguments>(words);
}
AccessArguments banks(const std::string& expression, const std::vector<std::string>& options = {}) {
  return access("banks", expression, options);
}
AccessArguments sectors(const std::string& expression, const std::vector<std::string>& options = {}) {
  return access("sectors", expression, options);
}

std::string banks_text(const AccessArguments& arguments, const Terminal& terminal) {
  return drawing_text(banks_drawing(arguments), terminal);
}
std::string sectors_text(const AccessArguments& arguments, const Terminal& terminal) {
  return drawing_text(sectors_drawing(arguments), terminal);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(Banks, DrawsAConflict) {
  EXPECT_EQ(banks_text(banks("thread * 2"), {}),
            "A warp loads 4 bytes per thread at index thread * 2 (elements of 4 bytes):\n"
            "\n"
            "bank      0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 "
            "29 30 31\n"
            "1: 0-31   0  .  1  .  2  .  3  .  4  .  5  .  6  .  7  .  8  .  9  . 10  . 11  . 12  . 13  . 14 "
            " . 15  .\n"
            "2: 0-31  16  . 17  . 18  . 19  . 20  . 21  . 22  . 23  . 24  . 25  . 26  . 27  . 28  . 29  . 30 "
            " . 31  .\n"
            "\n"
            "A row is a wavefront, with the threads of its pass. A cell is the thread that the bank serves;\n"
            "+: and others that access the same word; .: idle.\n"
            "\n"
            "wavefronts 2, at least 1: 1 bank conflict, 2-way\n");
}

TEST(Banks, DrawsPassesAndBroadcasts) {
  const std::vector<std::string> lines = lines_of(banks_text(banks("thread / 2 * 4", {"--width", "16"}), {}));
  EXPECT_EQ(lines[3],
            "1: 0-15    0+ 0+ 0+ 0+ 2+ 2+ 2+ 2+ 4+ 4+ 4+ 4+ 6+ 6+ 6+ 6+ 8+ 8+ 8+ 8+10+10+10+10+12+12+12+12+"
            "14+14+14+14+");
  EXPECT_EQ(lines[4].substr(0, 16), "2: 16-31  16+16+");
  EXPECT_EQ(lines.back(), "wavefronts 2, at least 2: no bank conflicts");
  const std::vector<std::string> store =
      lines_of(banks_text(banks("thread / 2 * 4", {"--width", "16", "--store"}), {}));
  EXPECT_EQ(store[0], "A warp stores 16 bytes per thread at index thread / 2 * 4 (elements of 4 bytes):");
  EXPECT_EQ(store[3].substr(0, 20), "1: 0-7     0+ 0+ 0+ ");
  EXPECT_EQ(store.back(), "wavefronts 4, at least 4: no bank conflicts");
  // Two passes with two words in a bank each.
  EXPECT_EQ(lines_of(banks_text(banks("thread * 4", {"--width", "8"}), {})).back(),
            "wavefronts 4, at least 2: 2 bank conflicts, 2-way");
}

// A narrow terminal gets banks 0 to 15 above banks 16 to 31. A file gets whole rows.
TEST(Banks, FitsTheTerminal) {
  const AccessArguments arguments = banks("thread");
  const std::vector<std::string> whole = lines_of(banks_text(arguments, {.interactive = true, .width = 105}));
  EXPECT_EQ(whole[2].size(), 104u);
  const std::vector<std::string> narrow =
      lines_of(banks_text(arguments, {.interactive = true, .width = 104}));
  EXPECT_EQ(narrow[2], "bank      0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15");
  EXPECT_EQ(narrow[5], "bank     16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31");
  EXPECT_EQ(lines_of(banks_text(arguments, {.width = 40}))[2], whole[2]);
}

TEST(Banks, ConflictsAreColoured) {
  const std::vector<std::string> lines = lines_of(banks_text(banks("thread * 2"), {.colour = true}));
  EXPECT_EQ(lines[3].find('\x1b'), std::string::npos);
  EXPECT_EQ(lines[4].substr(0, 2), "\x1b[");
}

TEST(Sectors, DrawsUnusedBytes) {
  EXPECT_EQ(
      sectors_text(sectors("thread / 4 * 8 + thread % 4 + 2"), {}),
      "A warp accesses 4 bytes per thread at index thread / 4 * 8 + thread % 4 + 2 (elements of 4 bytes):\n"
      "\n"
      "address   0  4  8 12 16 20 24 28\n"
      "0         .  .  0  1  2  3  .  .\n"
      "32        .  .  4  5  6  7  .  .\n"
      "64        .  .  8  9 10 11  .  .\n"
      "96        .  . 12 13 14 15  .  .\n"
      "128       .  . 16 17 18 19  .  .\n"
      "160       .  . 20 21 22 23  .  .\n"
      "192       .  . 24 25 26 27  .  .\n"
      "224       .  . 28 29 30 31  .  .\n"
      "\n"
      "A row is a sector of 32 bytes. A cell is the thread that accesses its 4 bytes;\n"
      "+: and others; .: not asked for.\n"
      "\n"
      "sectors 8, at least 4: 256 bytes moved for 128 asked for, efficiency 50.0 %\n");
}

TEST(Sectors, CellsOfEveryWidth) {
  const auto first_row = [](const std::string& width, const std::string& expression) {
    return lines_of(sectors_text(sectors(expression, {"--width", width}), {}))[3];
  };
  EXPECT_EQ(first_row("1", "thread").size(), first_row("4", "thread").size() + 3 * 24);
  EXPECT_EQ(first_row("2", "thread"), "0         0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15");
  EXPECT_EQ(first_row("8", "thread * 2"), "0         0  0  1  1  2  2  3  3");
  EXPECT_EQ(first_row("16", "thread / 2 * 4"), "0         0+ 0+ 0+ 0+ 2+ 2+ 2+ 2+");
  EXPECT_EQ(sectors_drawing(sectors("3")).summary(),
            "sectors 1, at least 1: 32 bytes moved for 4 asked for, efficiency 12.5 %");
}

// An index counts floats, and narrower elements where the access is narrower.
TEST(Access, CountsElements) {
  const auto second = [](const AccessArguments& arguments) { return access_of(arguments).address[1]; };
  EXPECT_EQ(second(banks("thread")), 4u);
  EXPECT_EQ(second(banks("thread * 4", {"--width", "16"})), 16u);
  EXPECT_EQ(second(banks("thread", {"--width", "16", "--element", "16"})), 16u);
  EXPECT_EQ(second(banks("thread * 8", {"--width", "8", "--element", "1"})), 8u);
  EXPECT_EQ(second(sectors("thread", {"--width", "2"})), 2u);
  EXPECT_EQ(second(sectors("thread", {"--width", "1"})), 1u);
  EXPECT_EQ(second(sectors("thread", {"--width", "1", "--element", "4"})), 4u);
}

TEST(Access, RefusesImpossibleAddresses) {
  const auto refusal = [](const AccessArguments& arguments) {
    return error_of([&] { access_of(arguments); });
  };
  EXPECT_EQ(refusal(banks("thread * 4 + thread / 8", {"--width", "16"})),
            "thread 8: address 132 (33 elements of 4 bytes), must be a multiple of 16 (try --element 16)");
  EXPECT_EQ(missing(refusal(banks("4 - thread")),
                    {"the expression '4 - thread' is -1 for thread 5, must be from 0 to below 274877906944"}),
            "");
  EXPECT_EQ(missing(refusal(sectors("thread << 40")), {"is 1099511627776 for thread 1"}), "");
  EXPECT_EQ(missing(refusal(banks("64 / thread")), {"divides by zero for thread 0"}), "");
}

// Addresses are below 2^40, whatever the size of an element.
TEST(Access, TheLargestAddress) {
  for (const int element : {1, 2, 4, 8, 16}) {
    const int64_t end = (int64_t{1} << 40) / element;
    const std::vector<std::string> options = {"--element", std::to_string(element), "--width",
                                              std::to_string(element)};
    const simt::WarpAccess access = access_of(banks(concat(end - 32, " + thread"), options));
    EXPECT_EQ(access.address[31], (uint64_t{1} << 40) - static_cast<uint64_t>(element)) << element;
    EXPECT_EQ(error_of([&] { access_of(banks(concat(end - 31, " + thread"), options)); }),
              concat("the expression '", end - 31, " + thread' is ", end,
                     " for thread 31, must be from 0 to below ", end));
    EXPECT_EQ(access_of(banks("31 - thread", options)).address[31], 0u);
  }
}

TEST(Access, RefusesOptions) {
  const auto refusal = [](const std::vector<std::string>& words) { return error_of([&] { parse(words); }); };
  for (const std::string command : {"banks", "sectors"}) {
    for (const std::string bad : {"0", "3", "32", "-4", "4.0", "", "four"})
      for (const std::string option : {"--width", "--element"})
        EXPECT_EQ(missing(refusal({command, "thread", option, bad}),
                          {option + " is '" + bad + "', must be 1, 2, 4, 8 or 16"}),
                  "");
    EXPECT_EQ(refusal({command}), "no expression was given: rondo " + command +
                                      " \"thread * 33\"; one that begins with - follows --");
    EXPECT_EQ(missing(refusal({command, "thread *"}), {"the expression 'thread *' ends"}), "");
    EXPECT_EQ(missing(refusal({command, "thread", "--svg", ""}), {"--svg is empty"}), "");
    EXPECT_NE(refusal({command, "thread", "* 4"}), "");
  }
  EXPECT_NE(refusal({"sectors", "thread", "--store"}), "");
}

constexpr const char* kExpressions[] = {"thread",
                                        "0",
                                        "thread * 16",
                                        "thread * 32",
                                        "thread * 4",
                                        "thread / 2 * 4",
                                        "thread % 4 * 8 + thread / 4 * 256",
                                        "thread * 36",
                                        "(thread / 8 * 32) ^ (thread % 8 * 4)",
                                        "thread % 8 * 32 + thread / 8 * 4 * (thread % 3)"};

// The rows of a drawing are the counted wavefronts, and every thread is in each of its banks once.
TEST(Banks, RowsAreTheWavefronts) {
  for (const std::string text : kExpressions)
    for (const int width : {1, 2, 4, 8, 16})
      for (const bool store : {false, true}) {
        AccessArguments arguments = {.index = Expression(concat("4 * (", text, ")"))};
        arguments.width = width;
        const simt::WarpAccess access = access_of(arguments);
        const simt::SharedCost cost = store ? shared_store(access) : shared_load(access);
        const std::vector<BankRow> rows = bank_rows(access, store);
        ASSERT_EQ(rows.size(), static_cast<size_t>(cost.wavefronts)) << text << ", width " << width;
        const auto conflicts = std::ranges::count_if(rows, [](const BankRow& row) { return row.conflict; });
        ASSERT_EQ(conflicts, cost.conflicts());
        std::vector<std::set<int>> banks_of_lane(32);
        for (const BankRow& row : rows)
          for (size_t bank = 0; bank < row.lanes.size(); ++bank)
            for (const int lane : row.lanes[bank]) {
              ASSERT_TRUE(lane >= row.first_lane && lane <= row.last_lane);
              ASSERT_TRUE(banks_of_lane[static_cast<size_t>(lane)].insert(static_cast<int>(bank)).second);
            }
        for (size_t lane = 0; lane < 32; ++lane) {
          const auto first = static_cast<int>(access.address[lane] / 4 % 32);
          ASSERT_EQ(banks_of_lane[lane].size(), static_cast<size_t>(std::max(1, width / 4)));
          ASSERT_EQ(*banks_of_lane[lane].begin(), first);
        }
      }
}

TEST(Sectors, RowsAreTheSectors) {
  for (const std::string text : kExpressions)
    for (const int width : {1, 2, 4, 8, 16}) {
      AccessArguments arguments = {.index = Expression(concat("4 * (", text, ")"))};
      arguments.width = width;
      const simt::WarpAccess access = access_of(arguments);
      const std::vector<SectorRow> rows = sector_rows(access);
      ASSERT_EQ(rows.size(), static_cast<size_t>(global_sectors(access))) << text << ", width " << width;
      int64_t used = 0;
      for (const SectorRow& row : rows)
        used += std::ranges::count_if(row.cells, [](const Lanes& lanes) { return !lanes.empty(); });
      ASSERT_EQ(used * cell_bytes(access), bytes_requested(access));
    }
}

TEST(Banks, JsonHoldsTheSame) {
  const nlohmann::json json = nlohmann::json::parse(banks_json(banks("thread * 8", {"--store"})));
  EXPECT_EQ(json["expression"], "thread * 8");
  EXPECT_EQ(json["width"], 4);
  EXPECT_EQ(json["element"], 4);
  EXPECT_EQ(json["store"], true);
  EXPECT_EQ(json["addresses"][31], 31 * 32);
  EXPECT_EQ(json["wavefronts"], 8);
  EXPECT_EQ(json["least_wavefronts"], 1);
  EXPECT_EQ(json["conflicts"], 7);
  EXPECT_EQ(json["conflict_degree"], 8);
  ASSERT_EQ(json["rows"].size(), 8u);
  EXPECT_EQ(json["rows"][1]["first_thread"], 0);
  EXPECT_EQ(json["rows"][1]["last_thread"], 31);
  EXPECT_EQ(json["rows"][1]["banks"][8], nlohmann::json({5}));
  EXPECT_TRUE(json["rows"][1]["banks"][9].empty());
}

TEST(Sectors, JsonHoldsTheSame) {
  const nlohmann::json json = nlohmann::json::parse(sectors_json(sectors("thread / 2 * 8")));
  EXPECT_EQ(json["sectors"], 16);
  EXPECT_EQ(json["least_sectors"], 2);
  EXPECT_EQ(json["bytes_requested"], 64);
  EXPECT_EQ(json["bytes_moved"], 512);
  EXPECT_EQ(json["efficiency"], 0.125);
  EXPECT_EQ(json["cell_bytes"], 4);
  ASSERT_EQ(json["rows"].size(), 16u);
  EXPECT_EQ(json["rows"][3]["address"], 96);
  EXPECT_EQ(json["rows"][3]["cells"][0], nlohmann::json({6, 7}));
}

// Accesses narrower and wider than a cell of the picture.
TEST(Sectors, JsonOfEveryWidth) {
  for (const int width : {1, 2, 4, 8, 16}) {
    const nlohmann::json json = nlohmann::json::parse(
        sectors_json(sectors("thread * 64", {"--width", std::to_string(width), "--element", "1"})));
    EXPECT_EQ(json["element"], 1);
    EXPECT_EQ(json["width"], width);
    EXPECT_EQ(json["addresses"][31], 31 * 64);
    EXPECT_EQ(json["sectors"], 32);
    EXPECT_EQ(json["least_sectors"], width);
    EXPECT_EQ(json["bytes_requested"], 32 * width);
    EXPECT_EQ(json["bytes_moved"], 32 * 32);
    EXPECT_EQ(json["efficiency"], width / 32.0);
    const int cell = std::min(width, 4);
    EXPECT_EQ(json["cell_bytes"], cell);
    ASSERT_EQ(json["rows"].size(), 32u);
    const nlohmann::json& cells = json["rows"][1]["cells"];
    ASSERT_EQ(cells.size(), static_cast<size_t>(32 / cell));
    for (int i = 0; i < 32 / cell; ++i)
      EXPECT_EQ(cells[static_cast<size_t>(i)].empty(), i * cell >= width) << width << ", cell " << i;
  }
}

// A block "$ rondo ..." of the documentation shows the output or the message of that command.
TEST(Access, TheDocumentationShowsTheOutput) {
  std::istringstream page(test::read_text(SOURCE_DIR "/docs/memory-accesses.md"));
  int commands = 0;
  for (std::string line; std::getline(page, line);) {
    std::smatch parts;
    if (!std::regex_match(line, parts, std::regex(R"(\$ rondo (\w+) "(.*)\"(.*))"))) continue;
    ++commands;
    std::vector<std::string> words = {parts[1], parts[2]};
    std::istringstream options(parts[3]);
    for (std::string word; options >> word;) words.push_back(word);
    std::string shown, text;
    for (std::string output; std::getline(page, output) && output != "```";) shown += output + "\n";
    try {
      const auto arguments = parse_as<AccessArguments>(words);
      text = words[0] == "banks" ? banks_text(arguments, {}) : sectors_text(arguments, {});
    } catch (const Error& error) {
      text = concat("rondo: ", error.what(), "\n");
    }
    EXPECT_EQ(shown, text) << line;
  }
  EXPECT_GE(commands, 6);
}

// One rectangle for the page and one for each cell.
TEST(Banks, ThePictureHasACellForEveryBank) {
  const auto count = [](const std::string& text, const std::string& part) {
    const std::regex pattern(part);
    return std::distance(std::sregex_iterator(text.begin(), text.end(), pattern), {});
  };
  const std::string svg =
      drawings_svg({banks_drawing(banks("thread < 16 ? thread * 2 : thread + 32", {"--width", "4"}))});
  EXPECT_EQ(XmlCheck::fault(svg), "");
  EXPECT_EQ(count(svg, "<rect"), 1 + 2 * 32);
  EXPECT_EQ(count(svg, "<g>"), 32);
  EXPECT_EQ(missing(svg, {"thread &lt; 16", "wavefronts 2, at least 1", "wavefront 1, bank 16: thread 8",
                          "wavefront 2, bank 18: thread 18"}),
            "");
  const std::string sector =
      drawings_svg({sectors_drawing(sectors("thread / 2", {"--width", "8", "--element", "8"}))});
  EXPECT_EQ(XmlCheck::fault(sector), "");
  EXPECT_EQ(count(sector, "<rect"), 1 + 4 * 8);
  EXPECT_EQ(missing(sector, {"sectors 4, at least 4", "address 40: threads 10, 11"}), "");
}

// The colours of the rows, from the first to the last.
std::vector<std::string> row_colours(const std::string& svg) {
  static const std::regex cell("</title>\\n<rect [^>]*rx=\"3\" fill=\"(#[0-9a-f]+)\"");
  std::vector<std::string> colours;
  for (std::sregex_iterator it(svg.begin(), svg.end(), cell), end; it != end; ++it)
    if (colours.empty() || colours.back() != (*it)[1]) colours.push_back((*it)[1]);
  return colours;
}

int green_of(const std::string& colour) { return std::stoi(colour.substr(3, 2), nullptr, 16); }

// Blue without a conflict, then from yellow to red: green falls with every wavefront.
TEST(Banks, TheColourGrowsWithTheConflict) {
  const std::string none = drawings_svg({banks_drawing(banks("thread", {}))});
  ASSERT_EQ(row_colours(none).size(), 1u);
  const std::vector<std::string> colours =
      row_colours(drawings_svg({banks_drawing(banks("thread * 32", {}))}));
  ASSERT_EQ(colours.size(), 32u);
  EXPECT_EQ(colours[0], row_colours(none)[0]);
  for (size_t i = 2; i < 32; ++i) EXPECT_LT(green_of(colours[i]), green_of(colours[i - 1])) << i;
  EXPECT_EQ(missing(none, {"A cell: one bank, 4 bytes wide", "32-way conflict"}), "");
  const std::string all = drawings_svg({sectors_drawing(sectors("thread", {}))});
  EXPECT_EQ(row_colours(all), row_colours(none));
  const std::string quarter = drawings_svg({sectors_drawing(sectors("thread * 4", {}))});
  EXPECT_LT(green_of(row_colours(quarter)[0]),
            green_of(row_colours(drawings_svg({sectors_drawing(sectors("thread * 2", {}))}))[0]));
  EXPECT_EQ(missing(quarter, {"A row: a sector of 32 bytes", "4 bytes of it"}), "");
}

}  // namespace
}  // namespace rondo::program
