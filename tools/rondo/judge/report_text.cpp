#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/core/status.h>
#include <rondo/nn/io/printable.h>
#include <rondo/tools/rondo/judge/verdict.h>
#include <rondo/tools/rondo/support/format.h>
#include <rondo/tools/rondo/support/text_table.h>

#include <cmath>
#include <ostream>

namespace rondo::program {
namespace {

std::string value_text(double value) {
  if (std::isnan(value)) return "nan";
  constexpr double kExact = 1e15;
  return value == std::floor(value) && std::abs(value) < kExact ? concat(static_cast<int64_t>(value))
                                                                : general(value, 7);
}

void show_indented(const std::string& text, const char* indent, std::ostream& out) {
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    out << indent << printable(std::string_view(text).substr(begin, end - begin)) << "\n";
    begin = end + 1;
  }
}

// A deadlock lists the threads that wait.
std::string shortened(const std::string& text) {
  constexpr size_t kMost = 600;
  return text.size() <= kMost ? text : text.substr(0, kMost) + " ...";
}

std::string failure_text(const Trial& trial) {
  switch (trial.end) {
    case TrialEnd::wrong: {
      const WrongElement& wrong = *trial.wrong;
      const std::string place = concat(wrong.array, "[", wrong.index, "]",
                                       wrong.device < 0 ? "" : concat(" of device ", wrong.device));
      return concat(
          place, wrong.written ? concat(" is ", value_text(wrong.got)) : " is memory that nobody wrote",
          ", must be ", value_text(wrong.wanted), "; ", grouped(wrong.wrong), " of ", grouped(wrong.count),
          wrong.count == 1 ? " element " : " elements ", wrong.wrong == 1 ? "is wrong" : "are wrong");
    }
    case TrialEnd::changed_input:
      return concat("the input ", trial.error, " was changed");
    case TrialEnd::cuda_error:
      return trial.error;
    case TrialEnd::crashed:
      return concat("the program ended: ", trial.error);
    case TrialEnd::time_limit:
      return "did not end within the time limit";
    case TrialEnd::right:
      break;
  }
  return "";
}

void show_comparison(const Verdict& verdict, std::ostream& out) {
  const Comparison& comparison = *verdict.comparison;
  out << "\n" << verdict.problem->counted.text() << ", counted:\n";
  std::vector<TextRow> rows = {{"", "yours", "slow", "best known"}};
  const auto add = [&](const char* name, double Measure::*count) {
    const Measure* const all[] = {&comparison.yours, &comparison.slow, &comparison.best};
    bool any = false;
    TextRow row = {name};
    for (const Measure* const measure : all) {
      any = any || measure->*count > 0;
      row.push_back(grouped(static_cast<int64_t>(measure->*count + 0.5)));
    }
    if (any) rows.push_back(row);
  };
  add("launches", &Measure::launches);
  add("bytes of memory", &Measure::bytes);
  add("bytes of L2", &Measure::block_bytes);
  add("sectors", &Measure::sectors);
  add("wavefronts of shared memory", &Measure::wavefronts);
  add("barriers of blocks", &Measure::barriers);
  add("bytes of links", &Measure::link_bytes);
  rows.push_back({concat("time by the counts, ", verdict.gpu->title), microseconds(comparison.yours.seconds),
                  microseconds(comparison.slow.seconds), microseconds(comparison.best.seconds)});
  rows.push_back({"bound by", comparison.yours.bound, comparison.slow.bound, comparison.best.bound});
  show_table(rows, out, 1);
  out << "The problem itself takes " << microseconds(comparison.bound_seconds) << " at least.\n\n";
  out << stars_text(comparison.stars) << "\n";
  if (comparison.stars == 0)
    out << "No stars: the time by the counts is below what the problem needs, or nothing was launched; the "
           "result was not computed by kernels.\n";
  if (!comparison.missing.empty()) out << "For three stars: " << comparison.missing << ".\n";
}

}  // namespace

std::string microseconds(double seconds) {
  const double us = seconds * 1e6;
  return concat(us < 999.5 ? general(us, 3) : grouped(static_cast<int64_t>(us + 0.5)), " us");
}

std::string stars_text(int stars) {
  std::string text;
  for (int star = 0; star < 3; ++star) text += star < stars ? "★" : "☆";
  return text;
}

void show_verdict(const Verdict& verdict, std::ostream& out) {
  out << verdict.problem->title << ": " << name_of(verdict.judgement) << "\n";
  if (verdict.failure) {
    const FailedTrial& failure = *verdict.failure;
    out << "  " << failure.sizes.text() << " (seed " << failure.seed << "): "
        << (failure.second_call ? "in the second call of the function, with the same arguments, " : "")
        << failure_text(failure.trial) << "\n";
    if (!failure.trial.output.empty()) {
      out << "  It printed:\n";
      show_indented(failure.trial.output, "    ", out);
    }
  }
  if (verdict.sizes_of_findings) {
    out << "  " << counted(static_cast<int64_t>(verdict.findings.size()), "finding", "findings") << " with "
        << verdict.sizes_of_findings->text() << ":\n";
    for (const TrialFinding& finding : verdict.findings)
      show_indented(concat(name_of(finding.kind), ": ", shortened(finding.text)), "    ", out);
  }
  if (verdict.judgement == Judgement::right) {
    out << "  " << counted(static_cast<int64_t>(verdict.problem->sizes.size()), "size", "sizes") << ", "
        << counted(verdict.seeds, "seed", "seeds") << "; no race, no unwritten read, nothing out of range\n";
    show_comparison(verdict, out);
  }
  for (const Hint& hint : verdict.hints) {
    out << "Hint: " << hint.text << ".";
    if (!hint.section.empty()) out << " docs/mistakes.md: " << hint.section << ".";
    out << "\n";
  }
}

}  // namespace rondo::program
