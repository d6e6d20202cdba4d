// The output of a training in progress: a progress bar if the terminal can redraw a line, else a plain line
// from time to time, and one row of figures per epoch.
#pragma once

#include <rondo/nn/train/training_report.h>
#include <rondo/tools/rondo/support/terminal.h>

#include <ostream>
#include <string>

namespace rondo::program {

// "epoch 2/10 ━━━━━━━━━━━       55 %  loss 1.2026  3,412 images/s  1:12 left",
// at most terminal.width - 1 characters.
std::string progress_line(const TrainingProgress& progress, int epochs, const Terminal& terminal);

// The header of the table of epochs, and one row.
std::string epoch_header();
std::string epoch_row(const EpochReport& report, int epochs);

// The last line, in the textbook's format: "test acc: 0.83, 14.2 sec/epoch on [cpu:0, cpu:1]". The seconds
// are the mean over the epochs.
std::string last_line(const std::vector<EpochReport>& epochs, const std::vector<int>& devices);

class Display {
 public:
  Display(std::ostream& out, const Terminal& terminal, int epochs)
      : out_(out), terminal_(terminal), epochs_(epochs) {}
  ~Display() { clear(); }
  Display(const Display&) = delete;
  Display& operator=(const Display&) = delete;

  void show(const TrainingProgress& progress);
  void show(const EpochReport& report);
  void clear();  // removes the progress bar, so that other text can follow

 private:
  std::ostream& out_;
  Terminal terminal_;
  int epochs_;
  bool header_shown_ = false;
  bool bar_shown_ = false;
  int spoken_epoch_ = 0;  // of the last plain progress line
  double spoken_seconds_ = 0;
};

}  // namespace rondo::program
