#include <rondo/kernels/core/status.h>
#include <rondo/nn/io/durable_file.h>
#include <rondo/tools/rondo/cuda/program_profile.h>
#include <rondo/tools/rondo/cuda/toolchain.h>
#include <rondo/tools/rondo/judge/judge.h>
#include <rondo/tools/rondo/judge/verdict.h>
#include <rondo/tools/rondo/support/format.h>
#include <rondo/tools/rondo/support/output_file.h>
#include <rondo/tools/rondo/support/temporary_folder.h>
#include <rondo/tools/rondo/support/text_table.h>

#include <algorithm>
#include <cmath>
#include <future>

#include "rondo_judge_texts.h"

namespace rondo::program {
namespace {

namespace fs = std::filesystem;

// Compiles the solution with what calls it.
class SolutionProgram {
 public:
  SolutionProgram(const JudgeCheckArguments& arguments, const Problem& problem)
      : folder_("rondo-judge"), harness_folder_("rondo-judge") {
    const fs::path harness = harness_folder_.path() / "harness.cpp";
    replace_file(harness_folder_.path() / "harness.h", kJudgeHarness);
    replace_file(harness, concat("#include \"harness.h\"\n", problem.declaration,
                                 ";\nint main() { return judge::run(&", problem.name, "); }\n"));
    CudaArguments compiled;
    compiled.files = {arguments.file};
    compiled.definitions = {"RONDO_JUDGE"};
    compiled.compiler = arguments.compiler;
    compiled.check = compiled.bounds = compiled.count = true;
    Toolchain toolchain(compiled, folder_.path()), of_harness(compiled, harness_folder_.path());
    auto second = std::async(std::launch::async, [&] { return of_harness.compile(harness.string()); });
    const fs::path solution = toolchain.compile(arguments.file);
    toolchain.link({solution, second.get()}, program());
  }
  fs::path program() const { return folder_.path() / "program"; }
  const fs::path& folder() const { return folder_.path(); }

 private:
  const TemporaryFolder folder_, harness_folder_;
};

// Runs with checks or counts take several times as long as the solution.
constexpr double kObserved = 6;

class Judge {
 public:
  Judge(const JudgeCheckArguments& arguments, const Problem& problem, const simt::GpuProperties& gpu)
      : arguments_(arguments), problem_(problem), program_(arguments, problem) {
    verdict_.problem = &problem;
    verdict_.gpu = &gpu;
    verdict_.file = arguments.file;
    verdict_.seeds = arguments.seeds;
  }

  Verdict verdict() {
    if (results_are_right() && nothing_is_found()) compare();
    verdict_.hints = hints_of(verdict_);
    return std::move(verdict_);
  }

 private:
  Trial run(const Case& of, uint64_t seed, std::map<std::string, std::string> environment, double seconds,
            bool counts = false, int calls = 1) {
    environment["SIMT_GPU"] = arguments_.gpu;
    environment["SIMT_SEED"] = concat(seed);
    environment["SIMT_LATE_COPIES"] = concat(seed % 2);
    ++verdict_.trials;
    return run_trial(of, {.program = program_.program(),
                          .folder = program_.folder(),
                          .environment = std::move(environment),
                          .seconds = seconds,
                          .memory_bytes = arguments_.memory_bytes,
                          .counts = counts,
                          .calls = calls});
  }

  void fail(const Sizes& sizes, uint64_t seed, Trial trial, bool second_call = false) {
    verdict_.judgement = trial.end == TrialEnd::time_limit ? Judgement::time_limit : Judgement::wrong;
    verdict_.failure = FailedTrial{sizes, seed, std::move(trial), second_call};
  }

  // Runs the sizes with all seeds. Stops at the first wrong result, and looks for its cause.
  bool results_are_right() {
    for (const Sizes& sizes : problem_.sizes) {
      for (int i = 0; i < arguments_.seeds; ++i) {
        const uint64_t seed = arguments_.seed + static_cast<uint64_t>(i);
        Trial trial = run(problem_.draw(sizes, seed), seed, {}, arguments_.seconds);
        if (trial.end == TrialEnd::right) continue;
        const bool ends = trial.end != TrialEnd::time_limit;
        fail(sizes, seed, std::move(trial));
        if (ends) take_findings(sizes, checked(sizes, seed));
        return false;
      }
      // A static variable, or one of a device, may keep what the first call left.
      Trial again = run(problem_.draw(sizes, arguments_.seed), arguments_.seed, {}, 2 * arguments_.seconds,
                        /*counts=*/false, /*calls=*/2);
      if (again.end == TrialEnd::right) continue;
      fail(sizes, arguments_.seed, std::move(again), /*second_call=*/true);
      return false;
    }
    return true;
  }

  Trial checked(const Sizes& sizes, uint64_t seed) {
    return run(problem_.draw(sizes, seed), seed, {{"SIMT_CHECK", "1"}, {"SIMT_BOUNDS", "1"}},
               kObserved * arguments_.seconds);
  }

  void take_findings(const Sizes& sizes, Trial trial) {
    if (trial.findings.empty()) return;
    verdict_.findings = std::move(trial.findings);
    verdict_.sizes_of_findings = sizes;
  }

  bool nothing_is_found() {
    for (const Sizes& sizes : problem_.sizes) {
      Trial trial = checked(sizes, arguments_.seed);
      if (trial.end != TrialEnd::right && trial.findings.empty()) {
        fail(sizes, arguments_.seed, std::move(trial));
        return false;
      }
      if (trial.findings.empty()) continue;
      take_findings(sizes, std::move(trial));
      verdict_.judgement = Judgement::faulty;
      return false;
    }
    return true;
  }

  void compare() {
    const Case counted = problem_.draw(problem_.counted, arguments_.seed);
    Trial trial = run(counted, arguments_.seed, {}, kObserved * arguments_.seconds, /*counts=*/true);
    if (trial.end != TrialEnd::right || !trial.counts)
      return fail(problem_.counted, arguments_.seed, std::move(trial));
    verdict_.profile = std::move(trial.counts);
    Comparison& comparison = verdict_.comparison.emplace();
    const ReferenceCounts reference = reference_counts(problem_);
    comparison.yours = measure_of(*verdict_.profile, counted, *verdict_.gpu);
    comparison.slow = measure_of(reference.slow, counted, *verdict_.gpu);
    comparison.best = measure_of(reference.best, counted, *verdict_.gpu);
    comparison.bound_seconds = problem_.least_seconds(counted, *verdict_.gpu);
    comparison.pinned_bytes = counted.least_pinned_bytes();
    const double yours = comparison.yours.seconds, best = comparison.best.seconds;
    comparison.stars = best >= 0.9 * yours ? 3 : yours <= std::sqrt(best * comparison.slow.seconds) ? 2 : 1;
    if (comparison.yours.launches == 0 || yours < comparison.bound_seconds) comparison.stars = 0;
    if (problem_.missing) comparison.missing = problem_.missing(*verdict_.profile);
    if (!comparison.missing.empty()) comparison.stars = std::min(comparison.stars, 2);
  }

  const JudgeCheckArguments& arguments_;
  const Problem& problem_;
  const SolutionProgram program_;
  Verdict verdict_;
};

// vector_add of "work/vector_add.cu"
std::string problem_of(const JudgeCheckArguments& arguments) {
  return arguments.problem.empty() ? fs::path(arguments.file).stem().string() : arguments.problem;
}

constexpr const char* kHintOpens = "<details>";
constexpr const char* kHintCloses = "</details>";

}  // namespace

void list_problems(std::ostream& out) {
  std::vector<TextRow> rows;
  int number = 0;
  for (const Problem& problem : problems())
    rows.push_back({problem.name, problem.title, problem.idea, concat(++number)});
  for (TextRow& row : rows) std::rotate(row.begin(), row.end() - 1, row.end());
  for (TextRow& row : rows) row[0] = right(row[0], 2);
  show_table(rows, out, 4);
  out << "\nrondo judge start NAME writes the page and a file to begin with; rondo judge check NAME.cu "
         "judges it\n";
}

void start_problem(const JudgeStartArguments& arguments, std::ostream& out) {
  const Problem& problem = problem_named(arguments.name);
  const ProblemFiles& files = files_of(problem);
  const fs::path folder = arguments.folder;
  const std::pair<const char*, const char*> texts[] = {
      {".cu", files.starter}, {".md", files.page}, {".svg", files.picture}};
  for (const auto& [extension, text] : texts)
    if (const fs::path path = folder / (std::string(problem.name) + extension); fs::exists(path))
      throw Error(bad_argument("'", path.string(), "' is there already; nothing was written"));
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw Error(bad_argument("--folder is '", folder.string(), "': ", error.message()));
  for (const auto& [extension, text] : texts)
    replace_file(folder / (std::string(problem.name) + extension), text);
  const std::string file = (folder / (std::string(problem.name) + ".cu")).lexically_normal().string();
  out << problem.title << ": " << (folder / problem.name).lexically_normal().string()
      << ".md has the problem. Write " << problem.name << "() in\n  " << file
      << "\nand run\n  rondo judge check " << file << "\n";
}

// The hints are <details> elements of the page.
void show_problem(const JudgeShowArguments& arguments, std::ostream& out) {
  const Problem& problem = problem_named(arguments.name);
  std::string_view page = files_of(problem).page;
  int hint = 0;
  for (;;) {
    const size_t open = page.find(kHintOpens);
    out << page.substr(0, open);
    if (open == page.npos) break;
    const size_t close = page.find(kHintCloses, open);
    std::string_view text = page.substr(open, close - open);
    text.remove_prefix(std::min(text.find("</summary>") + 10, text.size()));
    text.remove_prefix(std::min(text.find_first_not_of('\n'), text.size()));
    if (++hint <= arguments.hints) out << "Hint " << hint << ". " << text;
    page.remove_prefix(close + std::string_view(kHintCloses).size());
    page.remove_prefix(std::min(page.find_first_not_of('\n'), page.size()));
  }
  if (hint > arguments.hints)
    out << "(rondo judge show " << problem.name << " --hints " << arguments.hints + 1 << " shows "
        << (arguments.hints == 0 ? "a hint" : "another hint") << ")\n";
}

int check_solution(const JudgeCheckArguments& arguments, std::ostream& out) {
  check_source(arguments.file);
  const Problem& problem = problem_named(problem_of(arguments));
  const OutputFile json("--json", arguments.json == "-" ? "" : arguments.json), svg("--svg", arguments.svg);
  for (const OutputFile* file : {&json, &svg}) file->check_is_not("the solution", arguments.file);
  const simt::GpuProperties& gpu = *simt::gpu_named(arguments.gpu);
  Verdict verdict;
  try {
    verdict = Judge(arguments, problem, gpu).verdict();
  } catch (const NotCompiled& error) {
    verdict.problem = &problem, verdict.gpu = &gpu, verdict.file = arguments.file;
    verdict.judgement = Judgement::not_compiled;
    verdict.hints.push_back({concat(error.what(), "; the function is ", problem.declaration,
                                    "; a main() belongs between #ifndef RONDO_JUDGE and #endif"),
                             ""});
  }
  if (arguments.json == "-")
    out << verdict_json(verdict);
  else
    show_verdict(verdict, out);
  if (json.wanted()) json.write(verdict_json(verdict));
  if (svg.wanted()) svg.write(verdict_svg(verdict));
  return verdict.judgement == Judgement::right ? 0 : 1;
}

}  // namespace rondo::program
