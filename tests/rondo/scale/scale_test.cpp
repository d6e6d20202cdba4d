// Compares the output of `rondo scale` with the cost model for each number of devices.
#include <gtest/gtest.h>
#include <rondo/tests/rondo/support/files.h>
#include <rondo/tests/rondo/support/xml.h>
#include <rondo/tools/rondo/support/format.h>
#include <rondo/tools/rondo/scale/scale.h>
#include <rondo/tools/rondo/scale/arguments.h>

#include <nlohmann/json.hpp>

#include <sstream>
#include <tuple>

namespace rondo::program {
namespace {

using test::error_of;
using test::missing;
using test::XmlCheck;

constexpr int64_t k25MB = 25'000'000;

TEST(Scale, TheOptionsMakeTheCluster) {
  ScaleArguments arguments;
  EXPECT_EQ(cluster_of(arguments).inside.alpha, find_link("nvlink")->link.alpha);
  EXPECT_EQ(cluster_of(arguments).between.bandwidth, find_link("network")->link.bandwidth);
  EXPECT_EQ(cluster_of(arguments).adapters_per_node, 8);
  arguments.devices_per_node = 4;
  EXPECT_EQ(cluster_of(arguments).adapters_per_node, 4);
  arguments.adapters_per_node = 2;
  arguments.alpha_us = {1, 2};
  arguments.bandwidth_gb = {3, 4};
  const Cluster cluster = cluster_of(arguments);
  EXPECT_EQ(cluster.adapters_per_node, 2);
  EXPECT_EQ(cluster.devices_per_node, 4);
  EXPECT_EQ(cluster.inside.alpha, 1e-6);
  EXPECT_EQ(cluster.between.alpha, 2e-6);
  EXPECT_EQ(cluster.inside.bandwidth, 3e9);
  EXPECT_EQ(cluster.between.bandwidth, 4e9);
}

TEST(Scale, TableCounts) {
  Cluster cluster = cluster_of({});
  EXPECT_EQ(table_counts(cluster, 100), (std::vector<int64_t>{2, 4, 8, 16, 32, 64}));
  EXPECT_EQ(table_counts(cluster, 5), (std::vector<int64_t>{2, 4}));
  cluster.devices_per_node = 6;
  EXPECT_EQ(table_counts(cluster, 48), (std::vector<int64_t>{2, 4, 6, 12, 24, 48}));
  cluster.devices_per_node = 1;
  EXPECT_EQ(table_counts(cluster, 9), (std::vector<int64_t>{2, 4, 8}));
}

// A number of devices is in an algorithm's span exactly if that algorithm is faster there, and in the fastest
// algorithm's fastest_span.
TEST(Scale, SpansMatchTheModel) {
  for (const int devices_per_node : {1, 6, 8})
    for (const int64_t bytes : {int64_t{1000}, k25MB, int64_t{1'000'000'000}}) {
      ScaleArguments arguments;
      arguments.devices_per_node = devices_per_node;
      const Cluster cluster = cluster_of(arguments);
      const std::vector<FastestSpan> spans = fastest_spans(bytes, cluster, 2000);
      size_t span_index = 0;
      for (int64_t devices = 2; devices <= 2000; devices = next_whole(devices, cluster)) {
        if (devices > spans.at(span_index).span.last) ++span_index;
        ASSERT_GE(devices, spans.at(span_index).span.first);
        ASSERT_EQ(spans.at(span_index).algorithm, fastest(devices, bytes, cluster)) << devices << " devices";
      }
      EXPECT_EQ(span_index + 1, spans.size());
      for (const ScaleAlgorithm algorithm : kScaleAlgorithms) {
        const std::vector<Span> spans = beats_flat_ring(algorithm, bytes, cluster, 2000);
        for (int64_t devices = 2; devices <= 2000; devices = next_whole(devices, cluster)) {
          bool inside = false;
          for (const Span& span : spans) inside |= span.first <= devices && devices <= span.last;
          ASSERT_EQ(inside, predict(algorithm, devices, bytes, cluster) <
                                predict(ScaleAlgorithm::flat_ring, devices, bytes, cluster));
        }
      }
    }
}

TEST(Scale, TimesHaveThreeDigits) {
  EXPECT_EQ(time_text(3.4e-6), "3.4 us");
  EXPECT_EQ(time_text(999.4e-6), "999 us");
  EXPECT_EQ(time_text(999.6e-6), "1 ms");
  EXPECT_EQ(time_text(1.789e-3), "1.79 ms");
  EXPECT_EQ(time_text(0.9996), "1 s");
  EXPECT_EQ(time_text(12.34), "12.3 s");
  EXPECT_EQ(time_text(123456), "123,456 s");
  EXPECT_EQ(time_text(5e-8), "0.05 us");
}

// One row for each number of devices, and one star in each row, at the fastest time.
TEST(Scale, TheTableMarksTheFastest) {
  const Cluster cluster = cluster_of({});
  std::istringstream lines(scale_table(k25MB, cluster, 8192));
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(missing(line, {"devices", "flat ring", "double binary tree", "hierarchical ring with trees"}),
            "");
  const size_t width = line.size();
  for (const int64_t devices : table_counts(cluster, 8192)) {
    ASSERT_TRUE(std::getline(lines, line));
    EXPECT_EQ(line.size(), width) << line;
    EXPECT_EQ(std::count(line.begin(), line.end(), '*'), 1) << line;
    const double best = predict(fastest(devices, k25MB, cluster), devices, k25MB, cluster);
    EXPECT_EQ(missing(line, {grouped(devices) + " ", " " + time_text(best) + " *"}), "");
    EXPECT_EQ(line.find(" -  ") != std::string::npos, devices <= 8) << line;
  }
  EXPECT_FALSE(std::getline(lines, line));
}

// Constants with a known crossing: 2 (n-1) ring steps of 1 us against trees with 100 us per hop.
TEST(Scale, WordsNameTheCrossing) {
  const Cluster cluster{
      .inside = {1e-6, 1e15}, .between = {1e-6, 1e15}, .devices_per_node = 1, .adapters_per_node = 1};
  const std::string words = scale_words(1, cluster, 64);
  // With n devices a tree takes 2 ceil(log2 n) steps and the ring 2 (n - 1): the same number for n = 2 and n
  // = 3.
  EXPECT_EQ(words,
            "fastest: the flat ring from 2 to 3 devices, the double binary tree from 4 devices on\n"
            "from 4 devices on the double binary tree beats the flat ring\n"
            "the hierarchical ring never beats the flat ring up to 64 devices\n"
            "from 4 devices on the hierarchical ring with trees beats the flat ring\n");
  Cluster slow = cluster;
  slow.between.alpha = 1e-6;
  EXPECT_EQ(missing(scale_words(1'000'000'000'000'000, slow, 8),
                    {"fastest: the flat ring at every number of devices",
                     "the double binary tree never beats the flat ring up to 8 devices"}),
            "");
}

// The height of a tree increases after each power of two: there it may become slower again.
TEST(Scale, WordsNameEverySpan) {
  ScaleArguments arguments;
  std::tie(arguments.inside, arguments.between) = parse_links("pcie,network");
  arguments.adapters_per_node = 1;
  const Cluster cluster = cluster_of(arguments);
  EXPECT_EQ(beats_flat_ring(ScaleAlgorithm::tree, 1'000'000'000, cluster, 8192).size(), 2u);
  EXPECT_EQ(
      missing(scale_words(1'000'000'000, cluster, 8192),
              {"at 1,024 devices and from 1,072 devices on the double binary tree beats the flat ring"}),
      "");
}

TEST(Scale, JsonHoldsTheSame) {
  ScaleArguments arguments;
  arguments.bytes = {1000, k25MB};
  arguments.devices = 256;
  const Cluster cluster = cluster_of(arguments);
  const nlohmann::json json = nlohmann::json::parse(scale_json(arguments));
  EXPECT_EQ(json["inside"]["name"], "nvlink");
  EXPECT_EQ(json["between"]["bytes_per_second"], 48e9);
  ASSERT_EQ(json["sizes"].size(), 2u);
  const nlohmann::json& size = json["sizes"][1];
  EXPECT_EQ(size["bytes"], k25MB);
  ASSERT_EQ(size["rows"].size(), table_counts(cluster, 256).size());
  for (const nlohmann::json& row : size["rows"]) {
    const int64_t devices = row["devices"];
    for (const ScaleAlgorithm algorithm : kScaleAlgorithms)
      EXPECT_EQ(row["seconds"][name_of(algorithm)], predict(algorithm, devices, k25MB, cluster));
    EXPECT_EQ(row["fastest"], name_of(fastest(devices, k25MB, cluster)));
  }
  const std::vector<Span> spans = beats_flat_ring(ScaleAlgorithm::hierarchical_ring, k25MB, cluster, 256);
  ASSERT_EQ(size["beats_flat_ring"]["hierarchical ring"].size(), spans.size());
  EXPECT_EQ(size["beats_flat_ring"]["hierarchical ring"][0][0], spans[0].first);
  EXPECT_EQ(size["fastest"][0]["algorithm"], "flat ring");
}

TEST(Scale, ThePictureHasEverySizeAndEveryCrossing) {
  ScaleArguments arguments;
  arguments.bytes = {1000, k25MB, 1'000'000'000, 4'000'000'000};
  const std::string svg = scale_svg(arguments);
  EXPECT_EQ(XmlCheck::fault(svg), "");
  EXPECT_EQ(missing(svg, {">1 kB<", ">25 MB<", ">1 GB<", ">4 GB<", ">flat ring<",
                          ">hierarchical ring with trees<"}),
            "");
  for (const int64_t bytes : arguments.bytes)
    for (const FastestSpan& fastest_span : fastest_spans(bytes, cluster_of(arguments), arguments.devices))
      if (fastest_span.span.first > 2) {
        EXPECT_EQ(missing(svg, {">" + grouped(fastest_span.span.first) + "<"}), "");
      }
  arguments.devices = 2;  // a single count
  EXPECT_EQ(XmlCheck::fault(scale_svg(arguments)), "");
  EXPECT_EQ(scale_svg(arguments).find("nan"), std::string::npos);
}

TEST(ScaleArguments, Values) {
  EXPECT_STREQ(parse_links("pcie,network").first.name, "pcie");
  EXPECT_STREQ(parse_links("nvlink,pcie").second.name, "pcie");
  for (const std::string bad : {"", "nvlink", "nvlink,", "a,b", "nvlink,pcie,network", "NVLink,pcie"})
    EXPECT_EQ(missing(error_of([&] { parse_links(bad); }), {"--links", "'" + bad + "'", "nvlink,network"}),
              "");
  EXPECT_EQ(parse_inside_between("--alpha", "3.5,1e2"), (std::pair<double, double>{3.5, 100}));
  for (const std::string bad :
       {"", "1", "1,", "1,2,3", "0,1", "-1,1", "nan,1", "1,inf", "1,2e9", "a,1", "1 ,2"})
    EXPECT_EQ(missing(error_of([&] { parse_inside_between("--alpha", bad); }),
                      {"--alpha", "'" + bad + "'", "two numbers"}),
              "");
  EXPECT_EQ(parse_sizes("--bytes", "1kB,25MB"), (std::vector<int64_t>{1000, k25MB}));
  for (const std::string bad : {"", "0", "1,", "2,1", "1,1", "1kB,x"})
    EXPECT_EQ(missing(error_of([&] { parse_sizes("--bytes", bad); }), {"--bytes"}), "") << bad;
  EXPECT_EQ(missing(error_of([] { parse_sizes("--bytes", "1,2,3,4,5,6,7,8,9,10,11,12,13"); }),
                    {"13", "at most 12"}),
            "");
}

}  // namespace
}  // namespace rondo::program
