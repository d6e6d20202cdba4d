#include <rondo/tools/rondo/train/csv_log.h>

#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/core/status.h>
#include <rondo/nn/io/parse.h>
#include <rondo/nn/io/printable.h>
#include <rondo/tools/rondo/support/option_readers.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

namespace rondo::program {
namespace {

// The columns of earlier versions.
std::string first_columns() {
  std::string text = "epoch,train_loss,test_accuracy,seconds";
  for (const char* name : kPhaseNames) text += std::string(",") + name + "_seconds";
  return text;
}
std::string head() { return first_columns() + ",learning_rate"; }

constexpr size_t kMostShown = 100;  // bytes of an invalid line in a message

}  // namespace

std::string csv_log(std::span<const EpochReport> epochs) {
  std::string text = head() + "\n";
  for (const EpochReport& epoch : epochs) {
    text += exact_text(epoch.epoch);
    for (double value : {epoch.train_loss, epoch.test_accuracy, epoch.seconds})
      text += "," + exact_text(value);
    for (double phase : epoch.phases) text += "," + exact_text(phase);
    text += "," + exact_text(epoch.learning_rate) + "\n";
  }
  return text;
}

std::vector<EpochReport> parse_csv_log(const std::string& name, const std::string& text) {
  std::vector<std::string> lines = split(text, '\n');
  if (lines.back().empty()) lines.pop_back();  // after the last line's end
  for (std::string& each : lines)
    if (each.ends_with('\r')) each.pop_back();
  std::string line;
  const auto refuse = [&](size_t number, const std::string& why) {
    throw Error(
        bad_argument("the log '", name, "', line ", number, " is '", excerpt(line, kMostShown), "', ", why));
  };
  if (!lines.empty()) line = lines[0];
  if (line != head() && line != first_columns()) refuse(1, "must be '" + head() + "'");
  const bool has_rate = line == head();
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
    const size_t columns = 4 + epoch.phases.size() + (has_rate ? 1 : 0);
    if (fields.size() != columns) refuse(number, concat("must have ", counted(columns, "number")));
    constexpr int64_t kMostEpochs = 1'000'000'000;
    if (!(fields[0] >= 1 && fields[0] <= kMostEpochs && std::trunc(fields[0]) == fields[0]))
      refuse(number, concat("must begin with an epoch, a whole number from 1 to ", kMostEpochs));
    epoch.epoch = static_cast<int64_t>(fields[0]);
    if (!epochs.empty() && epoch.epoch <= epochs.back().epoch)
      refuse(number, "must begin with an epoch above the previous one");
    epoch.train_loss = fields[1];
    epoch.test_accuracy = fields[2];
    epoch.seconds = fields[3];
    if (epoch.test_accuracy < 0 || epoch.test_accuracy > 1)
      refuse(number, concat("must have a test accuracy from 0 to 1, not ", exact_text(epoch.test_accuracy)));
    if (epoch.train_loss < 0)
      refuse(number,
             concat("must have a training loss that is not negative, not ", exact_text(epoch.train_loss)));
    const auto check_seconds = [&](const std::string& column, double seconds) {
      if (seconds < 0 || std::isinf(seconds))
        refuse(number,
               concat("must have ", column, " that are finite and not negative, not ", exact_text(seconds)));
    };
    check_seconds("seconds", epoch.seconds);
    std::copy_n(fields.begin() + 4, epoch.phases.size(), epoch.phases.begin());
    for (size_t i = 0; i < epoch.phases.size(); ++i)
      check_seconds(concat(kPhaseNames[i], "_seconds"), epoch.phases[i]);
    const double rate = has_rate ? fields.back() : std::numeric_limits<double>::quiet_NaN();
    if (rate < 0 || rate > kMaxLearningRate)
      refuse(number,
             concat("must have a learning rate from 0 to ", kMaxLearningRate, ", not ", exact_text(rate)));
    epoch.learning_rate = static_cast<float>(rate);
    epochs.push_back(epoch);
  }
  return epochs;
}

}  // namespace rondo::program
