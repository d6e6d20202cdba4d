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

TEST(TraceJson, ShowsStepAndPhase) {
  std::vector<TraceSpan> spans = {kSpans[0], kSpans[1]};
  spans[0].step = 2;
  spans[0].phase = "forward";
  const std::vector<Json> written = events(Json::parse(trace_json(spans, {0, 0})), "X");
  EXPECT_EQ(written[0].at("args"), (Json{{"step", 2}, {"phase", "forward"}}));
  EXPECT_FALSE(written[1].contains("args"));
}

TraceSpan span_at(int rank, const char* stream, double begin, double end,
                  std::vector<TraceTransfer> transfers = {}, int step = 1) {
  return {.name = "work",
          .category = "test",
          .rank = rank,
          .stream = stream,
          .begin_us = begin,
          .end_us = end,
          .transfers = std::move(transfers),
          .step = step};
}

std::vector<std::pair<size_t, size_t>> arrows_of(const std::vector<TraceSpan>& spans) {
  std::vector<std::pair<size_t, size_t>> pairs;
  for (const TraceArrow& arrow : trace_arrows(spans)) pairs.emplace_back(arrow.from, arrow.to);
  return pairs;
}

using Pairs = std::vector<std::pair<size_t, size_t>>;

TEST(TraceArrows, LeadToTheNextWorkOfTheAllReduce) {
  EXPECT_EQ(arrows_of({span_at(1, "sums", 10, 11),  // opened before the transfer
                       span_at(0, "copies", 5, 10, {{0, 1}}),
                       span_at(1, "sums", 9, 10),      // began before the data arrived
                       span_at(1, "compute", 11, 12),  // not of the all-reduce
                       span_at(1, "sums", 30, 31), span_at(1, "copies", 10, 12)}),
            (Pairs{{1, 5}}));
}

TEST(TraceArrows, LeadToOtherWorkIfTheAllReduceIsOver) {
  EXPECT_EQ(arrows_of({span_at(0, "copies", 5, 10, {{0, 1}}), span_at(1, "compute", 20, 21),
                       span_at(1, "compute", 15, 16), span_at(1, "copies", 25, 26, {}, 2)}),
            (Pairs{{0, 2}}));
}

TEST(TraceArrows, ComeFromTheWorkThatEndedLastBeforeThem) {
  EXPECT_EQ(arrows_of({span_at(1, "compute", 0, 4), span_at(1, "sums", 1, 2), span_at(1, "compute", 3, 6),
                       span_at(0, "sums", 5, 8, {{1, 0}, {0, 1}}), span_at(1, "compute", 4, 5),
                       span_at(1, "sums", 8, 9)}),
            (Pairs{{0, 3}, {3, 5}}));
}

// The clock of rank 1 is late or early, so that nothing of it seems to be before or after the transfer.
TEST(TraceArrows, FollowTheOrderOfTheCallsIfClocksDiffer) {
  EXPECT_EQ(arrows_of({span_at(1, "compute", 100, 104), span_at(1, "compute", 104, 106),
                       span_at(0, "sums", 5, 8, {{1, 0}})}),
            (Pairs{{1, 2}}));
  EXPECT_EQ(arrows_of({span_at(0, "sums", 500, 800, {{0, 1}}), span_at(1, "sums", 8, 9),
                       span_at(1, "compute", 9, 12)}),
            (Pairs{{0, 1}}));
}

TEST(TraceArrows, StayWithinAStepAndTheRecordedRanks) {
  EXPECT_EQ(arrows_of({span_at(0, "copies", 5, 10, {{0, 1}, {0, 7}}), span_at(1, "sums", 12, 13, {}, 2),
                       span_at(1, "sums", 20, 21, {{0, 1}}, 3)}),
            Pairs());
}

// Chrome's format: "s" at the tail, "f" with "bp": "e" at the head, both at the begin of their spans.
TEST(TraceArrows, AreFlowEvents) {
  const std::vector<TraceSpan> spans = {span_at(0, "copies", 5, 10, {{0, 1}}), span_at(1, "sums", 12, 13),
                                        span_at(1, "sums", 20, 21, {{0, 1}})};
  const Json document = Json::parse(trace_json(spans, {0, 0}));
  const std::vector<Json> tails = events(document, "s"), heads = events(document, "f"),
                          boxes = events(document, "X");
  ASSERT_EQ(tails.size(), 2u);
  ASSERT_EQ(heads.size(), 2u);
  EXPECT_NE(tails[0].at("id"), tails[1].at("id"));
  const std::pair<size_t, size_t> ends[] = {{0, 1}, {0, 2}};
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(tails[i].at("id"), heads[i].at("id"));
    EXPECT_EQ(heads[i].at("bp"), "e");
    for (const char* key : {"pid", "tid", "ts"}) {
      EXPECT_EQ(tails[i].at(key), boxes[ends[i].first].at(key)) << key;
      EXPECT_EQ(heads[i].at(key), boxes[ends[i].second].at(key)) << key;
    }
  }
}

TEST(TraceJson, NothingRecorded) { EXPECT_EQ(Json::parse(trace_json({}, {})).at("traceEvents").size(), 0u); }

}  // namespace
}  // namespace rondo::program
