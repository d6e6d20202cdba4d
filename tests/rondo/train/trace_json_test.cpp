#include <gtest/gtest.h>
#include <rondo/tools/rondo/train/trace_json.h>

#include <nlohmann/json.hpp>

namespace rondo::program {
namespace {

using Json = nlohmann::json;

const std::vector<TraceSpan> kSpans = {
    {.name = "gemm", .category = "kernel", .rank = 0, .stream = "compute", .begin_us = 10, .end_us = 12.5},
    {.name = "send \"chunk\" 2\\n",
     .category = "copy",
     .rank = 1,
     .stream = "ring",
     .begin_us = 11,
     .end_us = 11},
    {.name = "relu", .category = "kernel", .rank = 0, .stream = "compute", .begin_us = 13, .end_us = 14},
    {.name = "add", .category = "kernel", .rank = 0, .stream = "ring", .begin_us = 13, .end_us = 14}};

std::vector<Json> events(const Json& document, const std::string& phase, const std::string& name = "") {
  std::vector<Json> found;
  for (const Json& event : document.at("traceEvents")) {
    if (event.at("ph") == phase && (name.empty() || event.at("name") == name)) found.push_back(event);
  }
  return found;
}

TEST(TraceJson, ReadsBackAsWritten) {
  const Json document = Json::parse(trace_json(kSpans, {0, 0}));
  const std::vector<Json> spans = events(document, "X");
  ASSERT_EQ(spans.size(), kSpans.size());
  for (size_t i = 0; i < kSpans.size(); ++i) {
    EXPECT_EQ(spans[i].at("name"), kSpans[i].name);
    EXPECT_EQ(spans[i].at("cat"), kSpans[i].category);
    EXPECT_EQ(spans[i].at("pid"), kSpans[i].rank);
    EXPECT_EQ(spans[i].at("ts"), kSpans[i].begin_us);
    EXPECT_EQ(spans[i].at("dur"), kSpans[i].end_us - kSpans[i].begin_us);
  }
}

TEST(TraceJson, HasARowForEachStreamOfEachRank) {
  const Json document = Json::parse(trace_json(kSpans, {0, 0}));
  const std::vector<Json> spans = events(document, "X");
  EXPECT_EQ(spans[0].at("tid"), spans[2].at("tid"));
  EXPECT_NE(spans[0].at("tid"), spans[3].at("tid"));
  const std::vector<Json> rows = events(document, "M", "thread_name");
  ASSERT_EQ(rows.size(), 3u);
  for (const Json& span : spans) {
    int named = 0;
    for (const Json& row : rows) named += row.at("pid") == span.at("pid") && row.at("tid") == span.at("tid");
    EXPECT_EQ(named, 1);
  }
}

TEST(TraceJson, RanksAreNamedAfterTheirDevices) {
  const std::vector<Json> ranks = events(Json::parse(trace_json({}, {1, 0})), "M", "process_name");
  ASSERT_EQ(ranks.size(), 2u);
  EXPECT_EQ(ranks[0].at("pid"), 0);
  const std::string name = ranks[0].at("args").at("name");
  EXPECT_EQ(name.rfind("rank 0 on ", 0), 0u);
  EXPECT_EQ(name.substr(name.size() - 2), ":1");
}

TEST(TraceJson, AcceptsBytesThatAreNotText) {
  std::vector<TraceSpan> spans = {kSpans[0]};
  spans[0].name = "\xff\xfe";
  EXPECT_EQ(events(Json::parse(trace_json(spans, {0})), "X").size(), 1u);
}

TEST(TraceJson, TimesAreToTheNanosecond) {
  std::vector<TraceSpan> spans = {kSpans[0]};
  spans[0].begin_us = 121095.71969747543;
  spans[0].end_us = 121096;
  const Json span = events(Json::parse(trace_json(spans, {0})), "X").at(0);
  EXPECT_EQ(span.at("ts"), 121095.72);
  EXPECT_EQ(span.at("dur"), 0.28);
}

TEST(TraceJson, NothingRecorded) { EXPECT_EQ(Json::parse(trace_json({}, {})).at("traceEvents").size(), 0u); }

}  // namespace
}  // namespace rondo::program
