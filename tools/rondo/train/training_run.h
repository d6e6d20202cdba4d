// What all training commands have in common: the files they write, the data they read, and what they show of both.
#pragma once

#include <rondo/nn/data/fashion_mnist.h>
#include <rondo/nn/diagnostics/memory_estimate.h>
#include <rondo/nn/train/training_report.h>
#include <rondo/tools/rondo/train/display.h>
#include <rondo/tools/rondo/support/output_file.h>
#include <rondo/tools/rondo/support/terminal.h>
#include <rondo/tools/rondo/train/arguments.h>

#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace rondo::program {

// The run did what was asked of it, and what came out is of no use: losses that are not numbers, replicas
// that differ.
class TrainingFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The files that are asked for, checked before the work starts.
struct TrainingFiles {
  TrainingFiles() = default;  // none
  explicit TrainingFiles(const ImageTraining& arguments);
  OutputFile log, plot, trace;
};

// A label in front, then what belongs to it.
void show_field(std::ostream& out, const Terminal& terminal, const std::string& label,
                const std::string& text);

// Devices of one kind share a line. That ranks share a device is said, and why, where nobody `asked` for it.
void show_placement(const std::vector<int>& devices, bool asked, std::ostream& out, const Terminal& terminal);

// Fashion-MNIST where the distribution puts it, or any such data from --data; as much of it as --limit says.
FashionMnist load_images(const ImageTraining& arguments);
void show_images(const FashionMnist& data, bool limited, std::ostream& out, const Terminal& terminal);

// Shows what each replica takes, with `more` that belongs to it. Throws an out_of_resources Error with the table where a device
// does not have as much free as its replicas will take together.
void show_memory(nn::MemoryEstimate estimate, const std::vector<int>& devices,
                 const std::vector<nn::MemoryPart>& more, std::ostream& out, const Terminal& terminal);

// What a picture of the run says beside its curves.
struct RunTitle {
  std::string title;   // "LeNet on Fashion-MNIST"
  std::string recipe;  // "batch 256, learning rate 0.2, on cpu:0"
};

// Shows the run as it goes, and keeps the log and the picture up to date, so that a run that is stopped by
// hand has left what it had. Throws TrainingFailed when the training diverged.
class RunCallbacks {
 public:
  RunCallbacks(Display& display, const TrainingFiles& files, RunTitle title, double learning_rate)
      : display_(display), files_(files), title_(std::move(title)), learning_rate_(learning_rate) {}
  // The epochs before `epoch` that are in the log already, of a training that goes on.
  void continue_log(int64_t epoch);
  void show(const TrainingProgress& progress) { display_.show(progress); }
  void show(const EpochReport& report);
  // As show(), if the training diverged.
  void show_hopeless(const EpochReport& report);

 private:
  Display& display_;
  const TrainingFiles& files_;
  RunTitle title_;
  double learning_rate_;
  std::vector<EpochReport> epochs_;
};

// Says why the steps were not run as graphs, where they were not.
void show_graph_refusal(const Status& refusal, std::ostream& out, const Terminal& terminal);

// Throws TrainingFailed where values differed.
void show_verification(int64_t steps, int64_t differing_values, std::ostream& out, const Terminal& terminal);
void show_written(const TrainingFiles& files, std::ostream& out);

}  // namespace rondo::program
