#include <rondo/tools/rondo/csv_log.h>

#include <array>
#include <charconv>

namespace rondo::program {
namespace {

std::string shortest(double value) {
  std::array<char, 32> text;  // the longest shortest form of a double has 24 characters
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
  return std::string(text.data(), end);
}

}  // namespace

std::string csv_log(std::span<const EpochReport> epochs) {
  std::string text = "epoch,train_loss,test_accuracy,seconds";
  for (const char* name : kPhaseNames) text += std::string(",") + name + "_seconds";
  text += "\n";
  for (const EpochReport& epoch : epochs) {
    text += std::to_string(epoch.epoch);
    for (double value : {epoch.train_loss, epoch.test_accuracy, epoch.seconds}) text += "," + shortest(value);
    for (double phase : epoch.phases) text += "," + shortest(phase);
    text += "\n";
  }
  return text;
}

}  // namespace rondo::program
