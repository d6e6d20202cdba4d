#include <rondo/kernels/core/status.h>
#include <rondo/nn/io/durable_file.h>
#include <rondo/nn/io/regular_file.h>
#include <rondo/tools/rondo/cuda/program_profile.h>
#include <rondo/tools/rondo/judge/trial.h>
#include <rondo/tools/rondo/support/run_process.h>
#include <simt/check.h>

#include <cmath>
#include <csignal>
#include <cstring>
#include <string_view>

namespace rondo::program {
namespace {

namespace fs = std::filesystem;

// The case as the harness reads it (harness.h).
class CaseFile {
 public:
  CaseFile(const Case& of, const TrialOptions& options) {
    add(static_cast<int32_t>(options.counts));
    add(static_cast<int32_t>(of.devices));
    add(static_cast<int32_t>(options.calls));
    for (const Argument& argument : of.arguments) {
      add(static_cast<uint8_t>(argument.role));
      add(static_cast<uint8_t>(argument.place));
      add(static_cast<uint16_t>(bytes_of(argument.element)));
      add(static_cast<int32_t>(argument.place == Place::every_device ? of.devices : 1));
      add(argument.count);
      bytes_.append(reinterpret_cast<const char*>(argument.content.data()), argument.content.size());
    }
  }
  const std::string& bytes() const { return bytes_; }

 private:
  template <class T>
  void add(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  std::string bytes_;
};

// What the harness wrote.
class ResultFile {
 public:
  explicit ResultFile(std::string bytes) : bytes_(std::move(bytes)) {}
  template <class T>
  T value() {
    T result{};
    const std::string_view bytes = take(sizeof(T));
    if (complete_) std::memcpy(&result, bytes.data(), sizeof(T));
    return result;
  }
  std::string text() { return std::string(take(value<uint64_t>())); }
  std::string_view take(size_t count) {
    if (count > bytes_.size() - at_) complete_ = false;
    if (!complete_) return {};
    const std::string_view result = std::string_view(bytes_).substr(at_, count);
    at_ += count;
    return result;
  }
  bool complete() const { return complete_; }

 private:
  const std::string bytes_;
  size_t at_ = 0;
  bool complete_ = true;
};

double element_value(Element element, const char* at) {
  const auto read = [at]<class T>(T value) {
    std::memcpy(&value, at, sizeof(T));
    return value;
  };
  switch (element) {
    case Element::float32:
      return read(0.0f);
    case Element::float16:
      return half_value(read(uint16_t{0}));
    case Element::int32:
      return read(0);
    case Element::uint32:
      return read(0u);
    case Element::uint8:
      return read(uint8_t{0});
  }
  return 0;
}

// Memory that nobody wrote is 0xFF bytes.
bool is_unwritten(Element element, const char* at) {
  for (size_t i = 0; i < bytes_of(element); ++i)
    if (static_cast<unsigned char>(at[i]) != 0xFF) return false;
  return true;
}

bool all_agree(const std::vector<double>& values, const std::vector<double>& wanted, const Expected& with) {
  for (size_t i = 0; i < values.size(); ++i)
    if (!agrees(values[i], wanted[i], with)) return false;
  return true;
}

void compare_result(const Argument& argument, int devices, std::string_view bytes, Trial& trial) {
  const size_t size = bytes_of(argument.element), count = bytes.size() / size;
  std::vector<double> values(count);
  WrongElement wrong{.array = argument.name, .count = static_cast<int64_t>(count)};
  for (size_t i = 0; i < count; ++i) {
    const char* const at = bytes.data() + i * size;
    values[i] = element_value(argument.element, at);
    if (agrees(values[i], argument.expected.values[i], argument.expected)) continue;
    if (wrong.wrong++ > 0) continue;
    wrong.index = static_cast<int64_t>(i);
    wrong.got = values[i], wrong.wanted = argument.expected.values[i];
    wrong.written = argument.role == Role::in_out || !is_unwritten(argument.element, at);
    if (argument.place == Place::every_device) {
      const auto each = static_cast<int64_t>(count) / devices;
      wrong.device = static_cast<int>(wrong.index / each);
      wrong.index %= each;
    }
  }
  if (wrong.wrong == 0 || trial.end == TrialEnd::wrong) return;
  trial.end = TrialEnd::wrong;
  trial.wrong = wrong;
  for (const KnownMistake& mistake : argument.mistakes) {
    if (!all_agree(values, mistake.values, argument.expected)) continue;
    trial.mistake = mistake.hint;
    trial.mistake_section = mistake.section;
    return;
  }
}

void compare(const Case& of, ResultFile& results, Trial& trial) {
  for (const Argument& argument : of.arguments) {
    if (argument.role == Role::scalar) continue;
    const int devices = argument.place == Place::every_device ? of.devices : 1;
    const std::string_view bytes =
        results.take(static_cast<size_t>(argument.count * devices) * bytes_of(argument.element));
    if (!results.complete()) return;
    if (argument.is_result()) {
      compare_result(argument, of.devices, bytes, trial);
    } else if (std::memcmp(bytes.data(), argument.content.data(), bytes.size()) != 0) {
      if (trial.end == TrialEnd::right) {
        trial.end = TrialEnd::changed_input;
        trial.error = argument.name;
      }
    }
  }
}

FindingKind kind_of(std::string_view text) {
  constexpr std::pair<const char*, FindingKind> kKinds[] = {
      {"unordered accesses", FindingKind::race},
      {"a read of unwritten", FindingKind::unwritten_read},
      {"deadlock", FindingKind::deadlock},
      {"divergent barrier", FindingKind::deadlock},
      {"cudaErrorIllegalAddress", FindingKind::out_of_range},
      {"cudaErrorMisalignedAddress", FindingKind::out_of_range},
      {"the host reads", FindingKind::out_of_range},
      {"the host writes", FindingKind::out_of_range},
      {"before the wait", FindingKind::race},
      {"an access to an unfinished", FindingKind::race}};
  for (const auto& [words, kind] : kKinds)
    if (text.find(words) != text.npos) return kind;
  return FindingKind::other;
}

// The paragraphs of the executor, which begin with "simt: " and whose further lines are indented. The rest is
// what the solution printed: it may have left a line without an end before such a paragraph.
void read_output(const std::string& text, Trial& trial) {
  constexpr std::string_view kMark = "simt: ";
  const auto print = [&trial](std::string_view line) {
    constexpr size_t kMostOutput = 2000;
    if (trial.output.size() < kMostOutput)
      trial.output += concat(line.substr(0, kMostOutput - trial.output.size()), "\n");
  };
  bool in_finding = false;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    if (in_finding && line.substr(0, 2) == "  ") {
      trial.findings.back().text += concat("\n", line);
    } else if (const size_t mark = line.find(kMark); mark != line.npos) {
      if (mark > 0) print(line.substr(0, mark));
      const std::string_view said = line.substr(mark + kMark.size());
      const bool is_sum = said.find(" of SIMT_") != said.npos;    // at the end of the process
      // Of a machine that is slow, and of a call whose error the solution may handle.
      const bool is_notice = said.starts_with("blocked for ") || said.starts_with("a call at ");
      in_finding = !is_sum && !is_notice;
      if (in_finding) trial.findings.push_back({.text = std::string(said)});
    } else {
      in_finding = false;
      print(line);
    }
  }
  for (TrialFinding& finding : trial.findings) finding.kind = kind_of(finding.text);
}

std::string beginning_of(const fs::path& path) {
  constexpr int64_t kMostBytes = int64_t{1} << 20;
  const RegularFile file(path.string());
  std::string text(static_cast<size_t>(std::min(file.size(), kMostBytes)), '\0');
  file.read(text.data(), static_cast<int64_t>(text.size()), 0);
  return text;
}

// Empty if the solution has removed the file.
std::string results_of(const fs::path& path) {
  constexpr int64_t kMostBytes = int64_t{1} << 31;
  return fs::is_regular_file(path) ? RegularFile(path.string()).contents<std::string>(kMostBytes) : "";
}

std::string text_of(const ProcessEnd& end) {
  return end.signal != 0 ? concat("signal ", end.signal, " (", strsignal(end.signal), ")")
                         : concat("exit code ", end.code);
}

// The process of a solution whose results are right: exit handlers and destructors run after the results are
// written, and then the executor reports its findings by the exit code.
void compare_end(const ProcessEnd& end, Trial& trial) {
  if (end.code == simt::kExitCodeOfFindings) {
    if (trial.findings.empty())
      trial.findings.push_back({.text = "the solution printed too much to show what the checks have found"});
  } else if (end.code != 0) {
    trial.end = TrialEnd::crashed;
    trial.error = concat(text_of(end), " after the function returned");
  }
}

}  // namespace

const char* name_of(FindingKind kind) {
  constexpr const char* kNames[] = {"race", "unwritten read", "out of range", "deadlock", "fault"};
  return kNames[static_cast<size_t>(kind)];
}

Trial run_trial(const Case& of, const TrialOptions& options) {
  const fs::path input = options.folder / "case", results = options.folder / "results",
                 output = options.folder / "output", run = options.folder / "run";
  fs::remove_all(run);
  fs::create_directory(run);
  replace_file(input.string(), CaseFile(of, options).bytes());
  std::map<std::string, std::string> environment = options.environment;
  environment["SIMT_DEVICES"] = concat(of.devices);
  constexpr int64_t kMostFileBytes = int64_t{256} << 20;
  const ProcessEnd end = run_process({options.program.string()}, {.environment = environment,
                                                                  .left_out = {"SIMT_", "CUDA_"},
                                                                  .standard_input = input.string(),
                                                                  .standard_output = output.string(),
                                                                  .standard_error = output.string(),
                                                                  .file_3 = results.string(),
                                                                  .folder = run.string(),
                                                                  .seconds = options.seconds,
                                                                  .memory_bytes = options.memory_bytes,
                                                                  .file_bytes = kMostFileBytes});
  if (end.signal == SIGINT) throw Error(Status(StatusCode::out_of_resources, "interrupted"));  // by Ctrl-C

  Trial trial;
  read_output(beginning_of(output), trial);
  if (end.timed_out) {
    trial.end = TrialEnd::time_limit;
    return trial;
  }
  ResultFile file(results_of(results));
  const auto launch = file.value<int32_t>();
  const std::string launch_error = file.text();
  const auto device = file.value<int32_t>();
  const std::string device_error = file.text();
  const std::string counts = file.text();
  if (!file.complete()) {
    trial.end = TrialEnd::crashed;
    trial.error = concat(text_of(end), end.signal != 0 ? "" : " before the results were written");
    return trial;
  }
  if (!counts.empty()) trial.counts = read_program_profile(counts);
  if (launch != 0 || device != 0) {
    trial.end = TrialEnd::cuda_error;
    trial.unchecked_launch = launch != 0 && device == 0;
    trial.error = device != 0 ? device_error : launch_error;
    return trial;
  }
  compare(of, file, trial);
  if (!file.complete()) {
    trial.end = TrialEnd::crashed;
    trial.error = "the results are not complete";
  }
  if (trial.end == TrialEnd::right) compare_end(end, trial);
  return trial;
}

}  // namespace rondo::program
