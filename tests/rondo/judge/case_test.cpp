#include <gtest/gtest.h>

#include <rondo/kernels/core/status.h>
#include <rondo/tools/rondo/cuda/program_profile.h>
#include <rondo/tools/rondo/judge/verdict.h>

#include <cmath>
#include <set>

namespace rondo::program {
namespace {

TEST(JudgeCase, HalvesAreNumbersOfTheInterval) {
  CaseRandom random(1);
  std::set<double> values;
  for (const uint16_t bits : random.halves(20000)) {
    const double value = half_value(bits);
    ASSERT_GE(value, -1) << bits;
    ASSERT_LT(value, 1) << bits;
    ASSERT_EQ(value * 1024, std::round(value * 1024)) << bits;
    values.insert(value);
  }
  EXPECT_GT(values.size(), 2000u);  // of 2048
}

TEST(JudgeCase, HalfValuesAreThoseOfIeee754) {
  EXPECT_EQ(half_value(0x3C00), 1);
  EXPECT_EQ(half_value(0xBC01), -(1 + 0x1p-10));
  EXPECT_EQ(half_value(0x0001), 0x1p-24);
  EXPECT_EQ(half_value(0x7BFF), 65504);
  EXPECT_EQ(half_value(0xFC00), -INFINITY);
  EXPECT_TRUE(std::isnan(half_value(0x7E00)));
}

TEST(JudgeCase, IntegersReachBothEnds) {
  CaseRandom random(1);
  std::set<int> values;
  for (int i = 0; i < 1000; ++i) values.insert(random.integer(-3, 4));
  EXPECT_EQ(values, (std::set<int>{-3, -2, -1, 0, 1, 2, 3, 4}));
}

TEST(JudgeCase, InfinitiesAgreeWithThemselvesOnly) {
  const Expected close{.values = {}, .absolute = 0.5, .relative = 0.1};
  EXPECT_TRUE(agrees(INFINITY, INFINITY, close));
  EXPECT_FALSE(agrees(-INFINITY, INFINITY, close));
  EXPECT_FALSE(agrees(1, INFINITY, close));
  EXPECT_FALSE(agrees(INFINITY, 1, close));
  EXPECT_TRUE(agrees(NAN, NAN, close));
  EXPECT_FALSE(agrees(NAN, 1, close));
  EXPECT_TRUE(agrees(11.5, 10, close));
  EXPECT_FALSE(agrees(11.51, 10, close));
}

// A solution can write its own counts.
TEST(JudgeTrial, CountsThatCannotBeAreNone) {
  const auto counts = [](const std::string& operations) {
    return R"({"kernels": [], "operations": [)" + operations + R"(], "uncounted_operations": 0})";
  };
  const std::string copy = R"({"from": -1, "to": 0, "bytes": 4, "after": [)";
  EXPECT_TRUE(read_program_profile(counts("")));
  EXPECT_TRUE(read_program_profile(counts(copy + "]}, " + copy + "0]}")));
  EXPECT_FALSE(read_program_profile(counts(copy + "0]}")));
  EXPECT_FALSE(read_program_profile(counts(R"({"kernel": 0, "device": 0, "after": []})")));
  EXPECT_FALSE(read_program_profile(counts("7")));
  EXPECT_FALSE(read_program_profile("[]"));
  EXPECT_FALSE(read_program_profile(R"({"uncounted_operations": 0})"));
}

// Whoever writes a problem relies on this.
TEST(JudgeProblems, ACaseDependsOnItsSeedAlone) {
  for (const Problem& problem : problems()) {
    const Sizes& sizes = problem.sizes.back();
    const Case one = problem.draw(sizes, 5), same = problem.draw(sizes, 5), other = problem.draw(sizes, 6);
    bool differs = false;
    for (size_t i = 0; i < one.arguments.size(); ++i) {
      EXPECT_EQ(one.arguments[i].content, same.arguments[i].content) << problem.name;
      EXPECT_EQ(one.arguments[i].expected.values, same.arguments[i].expected.values) << problem.name;
      differs = differs || one.arguments[i].content != other.arguments[i].content;
    }
    EXPECT_TRUE(differs) << problem.name;
  }
}

TEST(JudgeProblems, AnExpectedResultHasAValueForEachElement) {
  for (const Problem& problem : problems())
    for (const Sizes& sizes : problem.sizes) {
      const Case of = problem.draw(sizes, 1);
      for (const Argument& argument : of.arguments) {
        const int64_t places = argument.place == Place::every_device ? of.devices : 1;
        const std::string place = concat(problem.name, " ", argument.name, " ", sizes.text());
        if (argument.is_result()) {
          EXPECT_EQ(static_cast<int64_t>(argument.expected.values.size()), argument.count * places) << place;
        }
        if (argument.role != Role::output) {
          EXPECT_EQ(argument.content.size(),
                    static_cast<size_t>(argument.count * places) * bytes_of(argument.element))
              << place;
        }
        EXPECT_GT(argument.count, 0) << place;
      }
    }
}

// A problem takes some time, however good the solution is; the best known one takes longer, the slow one
// longest.
TEST(JudgeProblems, TheBoundIsBelowTheBestKnownSolution) {
  for (const Problem& problem : problems()) {
    const simt::GpuProperties& gpu = *simt::gpu_named("a100");
    const ReferenceCounts reference = reference_counts(problem);
    const Case of = problem.draw(problem.counted, 1);
    const double best = measure_of(reference.best, of, gpu).seconds;
    EXPECT_GT(problem.least_seconds(of, gpu), 0) << problem.name;
    EXPECT_LT(problem.least_seconds(of, gpu), best) << problem.name;
    EXPECT_LT(best, measure_of(reference.slow, of, gpu).seconds) << problem.name;
  }
}

TEST(JudgeVerdict, APictureHasTimesWithoutExponents) {
  Verdict verdict;
  verdict.problem = &problem_named("overlapped_sum");
  verdict.gpu = simt::gpu_named("a100");
  Comparison& comparison = verdict.comparison.emplace();
  comparison.yours.seconds = 1.2346e-3, comparison.best.seconds = 12.34e-6;
  comparison.slow.seconds = 0.9996e-3;
  const std::string picture = verdict_svg(verdict);
  EXPECT_NE(picture.find("1,235 us"), picture.npos) << picture;
  EXPECT_NE(picture.find("12.3 us"), picture.npos) << picture;
  EXPECT_NE(picture.find("1,000 us"), picture.npos) << picture;
}

// Without an order a read may come before the write: the race says it all.
TEST(JudgeVerdict, AnUnwrittenReadBesideARaceHasNoHint) {
  const TrialFinding race = {FindingKind::race,
                             "unordered accesses to byte 16 of shared memory: In kernel f"},
                     unwritten = {FindingKind::unwritten_read, "a read of memory that nothing has written"};
  Verdict verdict;
  verdict.problem = &problem_named("transpose");
  verdict.findings = {unwritten};
  ASSERT_EQ(hints_of(verdict).size(), 1u);
  const std::string of_unwritten = hints_of(verdict)[0].text;
  verdict.findings = {unwritten, race};
  ASSERT_EQ(hints_of(verdict).size(), 1u);
  EXPECT_NE(hints_of(verdict)[0].text, of_unwritten);
}

// With one space for any white space.
std::string joined(const char* text) {
  std::string result;
  for (; *text; ++text) {
    const bool space = *text == ' ' || *text == '\n';
    if (!space || result.empty() || result.back() != ' ') result += space ? ' ' : *text;
  }
  return result;
}

TEST(JudgeProblems, APageHasTheDeclarationAndHints) {
  for (const Problem& problem : problems()) {
    const ProblemFiles& files = files_of(problem);
    const std::string page = joined(files.page), starter = joined(files.starter), picture = files.picture;
    EXPECT_NE(page.find(std::string(problem.declaration) + ";"), page.npos) << problem.name;
    EXPECT_NE(page.find("<summary>Hint 2</summary>"), page.npos) << problem.name;
    EXPECT_NE(page.find(std::string(problem.name) + ".svg"), page.npos) << problem.name;
    EXPECT_NE(starter.find(std::string(problem.declaration) + " {"), starter.npos) << problem.name;
    EXPECT_NE(starter.find("#ifndef RONDO_JUDGE"), starter.npos) << problem.name;
    EXPECT_EQ(picture.rfind("<svg", 0), 0u) << problem.name;
  }
}

}  // namespace
}  // namespace rondo::program
