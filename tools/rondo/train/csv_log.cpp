#include <rondo/tools/rondo/train/csv_log.h>

#include <rondo/kernels/core/status.h>
#include <rondo/nn/io/parse.h>
#include <rondo/nn/io/printable.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace rondo::program {
namespace {

std::string head() {
  std::string text = "epoch,train_loss,test_accuracy,seconds";
  for (const char* name : kPhaseNames) text += std::string(",") + name + "_seconds";
  return text;
}

constexpr size_t kMostShown = 100;  // bytes of an invalid line in a message

}  // namespace

std::string csv_log(std::span<const EpochReport> epochs) {
  std::string text = head() + "\n";
  for (const EpochReport& epoch : epochs) {
    text += exact_text(epoch.epoch);
    for (double value : {epoch.train_loss, epoch.test_accuracy, epoch.seconds})
      text += "," + exact_text(value);
    for (double phase : epoch.phases) text += "," + exact_text(phase);
    text += "\n";
  }
  return text;
}

std::vector<EpochReport> parse_csv_log(const std::string& name, const std::string& text) {
  std::vector<std::string> lines = split(text, '\n');
  if (lines.back().empty()) lines.pop_back();  // after the last line's end
  std::string line;
  const auto refuse = [&](size_t number, const std::string& why) {
    throw Error(
        bad_argument("the log '", name, "', line ", number, " is '", excerpt(line, kMostShown), "', ", why));
  };
  if (!lines.empty()) line = lines[0];
  if (line != head()) refuse(1, "must be '" + head() + "'");
  std::vector<EpochReport> epochs;
  for (size_t number = 2; number <= lines.size(); ++number) {
    line = lines[number - 1];
    std::vector<double> fields;
    for (size_t begin = 0; begin <= line.size();) {
      const size_t end = std::min(line.find(',', begin), line.size());
      const auto value = read_number<double>(std::string_view(line).substr(begin, end - begin));
      if (!value) refuse(number, "must be numbers");
      fields.push_back(*value);
      begin = end + 1;
    }
    EpochReport epoch;
    if (fields.size() != 4 + epoch.phases.size())
      refuse(number, concat("must have ", 4 + epoch.phases.size(), " numbers"));
    constexpr double kMostEpochs = 1e9;
    const double before = epochs.empty() ? 0 : static_cast<double>(epochs.back().epoch);
    if (!(fields[0] > before && fields[0] <= kMostEpochs && std::trunc(fields[0]) == fields[0]))
      refuse(number, "must begin with an epoch above the previous one");
    epoch.epoch = static_cast<int64_t>(fields[0]);
    epoch.train_loss = fields[1];
    epoch.test_accuracy = fields[2];
    epoch.seconds = fields[3];
    std::copy(fields.begin() + 4, fields.end(), epoch.phases.begin());
    epochs.push_back(epoch);
  }
  return epochs;
}

}  // namespace rondo::program
