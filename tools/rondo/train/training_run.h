// Common parts of the training commands: output files, data and printed fields.
#pragma once

#include <rondo/kernels/runtime/trace.h>
#include <rondo/nn/data/fashion_mnist.h>
#include <rondo/nn/diagnostics/memory_estimate.h>
#include <rondo/nn/train/training_report.h>
#include <rondo/tools/rondo/support/image_model.h>
#include <rondo/tools/rondo/support/output_file.h>
#include <rondo/tools/rondo/support/terminal.h>
#include <rondo/tools/rondo/train/arguments.h>
#include <rondo/tools/rondo/train/display.h>
#include <rondo/tools/rondo/train/run_record.h>

#include <chrono>
#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace rondo::program {

// The run finished as requested, but its result is unusable: losses that are not finite, or replicas that
// differ.
class TrainingFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The requested output files, checked before the work starts.
struct TrainingFiles {
  TrainingFiles() = default;  // none
  explicit TrainingFiles(const ImageTraining& arguments);
  std::vector<const OutputFile*> all() const { return {&log, &plot, &trace, &html}; }
  void check_are_not(const IdxDataSet& data) const;  // check_is_not() for its files
  OutputFile log, plot, trace, html;
};

inline constexpr const char* kFileOfData = "a file of the data set";

// Prints a label and its text on one line.
void show_field(std::ostream& out, const Terminal& terminal, const std::string& label,
                const std::string& text);

// "[cpu:0, cpu:1] 8 cores of ...": the devices, those of the same kind together.
std::vector<std::string> device_texts(const std::vector<int>& devices);
// The lines of device_texts(). If ranks share a device, this is printed, with the reason unless the
// caller `asked` for it.
void show_placement(const std::vector<int>& devices, bool asked, std::ostream& out, const Terminal& terminal);

// Fashion-MNIST from its installed location, or the IDX files of --data, reduced to --limit samples. The
// number of classes is --classes if it is given, and at least 2.
// classes_are_known: by a checkpoint. Otherwise labels of one class are an error.
IdxDataSet load_images(const ImageTraining& arguments, bool classes_are_known = false);
// The same for images of 28 x 28 and ten classes.
FashionMnist load_fashion_mnist_images(const ImageTraining& arguments);
// "Fashion-MNIST (SHA-256 verified): 60,000 training and 10,000 test images of 28 x 28"
std::string images_text(const IdxDataSet& data, bool limited);

// The model that --image and --classes would name for these images.
ModelImages images_of(const IdxDataSet& data);
// "lenet, 114,690 parameters (rondo summary lenet shows them)"
std::string model_text(const std::string& name, const nn::Graph& graph, const IdxDataSet& data);

// Prints the memory of each replica, including `shared`, which the replicas of a device have in common.
// Throws an out_of_resources Error with the table if a device has less free memory than its replicas need
// together.
void show_memory(const nn::MemoryEstimate& estimate, const std::vector<int>& devices,
                 const std::vector<nn::MemoryPart>& shared, std::ostream& out, const Terminal& terminal);
// The same memory, device by device.
std::vector<DeviceMemory> memory_of(const nn::MemoryEstimate& estimate, const std::vector<int>& devices,
                                    const std::vector<nn::MemoryPart>& shared);

// The text of the run's picture.
struct RunTitle {
  std::string title;   // "LeNet on Fashion-MNIST"
  std::string recipe;  // "batch 256, learning rate 0.2, on cpu:0"
};

// Prints the run and updates the log, the picture and the page after each epoch, so that an interrupted run
// keeps its results. Throws TrainingFailed if the training diverged.
class RunCallbacks {
 public:
  // `record`: the page's, as far as it is known before the training. `trace`: may be null.
  RunCallbacks(Display& display, const TrainingFiles& files, RunTitle title, double learning_rate,
               RunRecord record, const Trace* trace)
      : display_(display),
        files_(files),
        title_(std::move(title)),
        learning_rate_(learning_rate),
        record_(std::move(record)),
        trace_(trace) {}
  // Reads the epochs before `epoch` from an existing log, for a resumed training.
  void continue_log(int64_t epoch);
  void show(const TrainingProgress& progress);
  void show(const EpochReport& report);
  // Writes the log before the epoch's checkpoint: if the run is killed between them, a resumed one drops what
  // the log has of later epochs, but it can't add an epoch that the log lacks. Calls show(), which throws, if
  // the training diverged.
  void before_save(const EpochReport& report);
  // The page, in the state "running", "done", "stopped" or "failed", with the reason.
  void write_page(const std::string& state, const std::string& reason = "");

 private:
  void log(const EpochReport& report);

  Display& display_;
  const TrainingFiles& files_;
  RunTitle title_;
  double learning_rate_;
  RunRecord record_;
  const Trace* trace_;
  std::chrono::steady_clock::time_point page_written_;
};

// The page's timeline: `record.trace`, or why there is none.
void put_trace(const Trace& trace, RunRecord& record);

// Prints why the steps were not run as graphs, if they were not.
void show_graph_refusal(const Status& refusal, std::ostream& out, const Terminal& terminal);

// Throws TrainingFailed if values differed.
void show_verification(int64_t steps, int64_t differing_values, std::ostream& out, const Terminal& terminal);
void show_written(const TrainingFiles& files, std::ostream& out);

}  // namespace rondo::program
