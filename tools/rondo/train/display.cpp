#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/text.h>
#include <rondo/tools/rondo/support/format.h>
#include <rondo/tools/rondo/train/display.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace rondo::program {
namespace {

constexpr int kMaxBar = 32;
constexpr int kMinBar = 8;
constexpr double kPlainEvery = 10;  // seconds between plain progress lines

constexpr std::array<size_t, 4> kColumns = {7, 10, 10, 10};  // epoch, loss, test acc, time
constexpr size_t kPhaseColumn = 10;

double share_done(const TrainingProgress& progress) {
  if (progress.samples <= 0) return 0;
  return std::clamp(static_cast<double>(progress.samples_done) / static_cast<double>(progress.samples), 0.0,
                    1.0);
}

std::string position(int epoch, int epochs) {
  const std::string total = exact_text(epochs);
  return right(exact_text(epoch), total.size()) + "/" + total;
}

// This function and the next require samples_done > 0 and seconds > 0.
std::string images_per_second(const TrainingProgress& progress) {
  return grouped(static_cast<int64_t>(static_cast<double>(progress.samples_done) / progress.seconds)) +
         " images/s";
}

// The time left of the whole run at the current epoch's rate.
std::string time_left(const TrainingProgress& progress, int epochs) {
  const double per_sample = progress.seconds / static_cast<double>(progress.samples_done);
  const int64_t to_do = progress.samples * (epochs - progress.epoch + 1) - progress.samples_done;
  const double seconds = per_sample * static_cast<double>(to_do);
  return (seconds < 99.5 ? fixed(seconds, 0) + " s" : duration(seconds)) + " left";
}

std::string bar(double share, int width, const Terminal& terminal) {
  const int full = static_cast<int>(share * width);
  const std::string cell = terminal.unicode ? "━" : "#";
  const std::string rest = terminal.unicode ? (terminal.colour ? "━" : " ") : ".";
  std::string done, open;
  for (int i = 0; i < full; ++i) done += cell;
  for (int i = full; i < width; ++i) open += rest;
  return inked(terminal, Ink::accent, done) + inked(terminal, Ink::dim, open);
}

}  // namespace

std::string progress_line(const TrainingProgress& progress, int epochs, const Terminal& terminal) {
  const std::string head = "epoch " + position(progress.epoch, epochs);
  std::string tail = right(percent(share_done(progress), 1), 5);
  if (progress.samples_done > 0 && progress.seconds > 0) {
    tail += "  loss " + loss_text(progress.loss) + "  " + images_per_second(progress) + "  " +
            time_left(progress, epochs);
  }

  // One column stays free: a full line wraps on some terminals and cannot be redrawn.
  const int room = terminal.width - 1 - static_cast<int>(head.size() + tail.size()) - 2;
  if (room < kMinBar)
    return (head + " " + tail).substr(0, static_cast<size_t>(std::max(terminal.width - 1, 0)));
  return head + " " + bar(share_done(progress), std::min(room, kMaxBar), terminal) + " " + tail;
}

std::string epoch_header() {
  std::string text = right("epoch", kColumns[0]) + right("loss", kColumns[1]) +
                     right("test acc", kColumns[2]) + right("time", kColumns[3]);
  for (const char* name : kPhaseNames) text += right(name, kPhaseColumn);
  return text;
}

std::string epoch_row(const EpochReport& report, int epochs) {
  const double whole = std::accumulate(report.phases.begin(), report.phases.end(), 0.0);
  std::string text =
      right(position(report.epoch, epochs), kColumns[0]) + right(loss_text(report.train_loss), kColumns[1]) +
      right(fixed(report.test_accuracy, 4), kColumns[2]) + right(duration(report.seconds), kColumns[3]);
  for (double phase : report.phases) text += right(percent(phase, whole), kPhaseColumn);
  return text;
}

std::string last_line(const std::vector<EpochReport>& epochs, const std::vector<int>& devices) {
  double seconds = 0;
  for (const EpochReport& epoch : epochs) seconds += epoch.seconds;
  const double mean = epochs.empty() ? 0 : seconds / static_cast<double>(epochs.size());
  const double accuracy = epochs.empty() ? 0 : epochs.back().test_accuracy;
  // One decimal, as in the textbook; epochs of milliseconds on a GPU need more.
  return "test acc: " + fixed(accuracy, 2) + ", " + fixed(mean, mean < 0.95 ? 3 : 1) + " sec/epoch on " +
         device_list(devices);
}

void Display::show(const TrainingProgress& progress) {
  if (terminal_.interactive) {
    out_ << "\r\x1b[K" << progress_line(progress, epochs_, terminal_) << std::flush;
    bar_shown_ = true;
    return;
  }
  if (progress.epoch != spoken_epoch_) {
    spoken_epoch_ = progress.epoch;
    spoken_seconds_ = 0;
  }
  if (progress.seconds - spoken_seconds_ < kPlainEvery || progress.samples_done >= progress.samples) return;
  spoken_seconds_ = progress.seconds;
  out_ << concat("        epoch ", progress.epoch, ", ", percent(share_done(progress), 1), ": loss ",
                 loss_text(progress.loss), ", ", images_per_second(progress), ", ",
                 time_left(progress, epochs_))
       << std::endl;
}

void Display::show(const EpochReport& report) {
  clear();
  if (!header_shown_) out_ << inked(terminal_, Ink::dim, epoch_header()) << "\n";
  header_shown_ = true;
  out_ << epoch_row(report, epochs_) << std::endl;
}

void Display::clear() {
  if (bar_shown_) out_ << "\r\x1b[K" << std::flush;
  bar_shown_ = false;
}

}  // namespace rondo::program
