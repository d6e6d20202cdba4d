#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/core/size.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/runtime/platform.h>
#include <rondo/nn/io/folder.h>
#include <rondo/nn/io/printable.h>
#include <rondo/nn/io/regular_file.h>
#include <rondo/tools/rondo/pictures/plot_svg.h>
#include <rondo/tools/rondo/support/format.h>
#include <rondo/tools/rondo/support/option_readers.h>
#include <rondo/tools/rondo/train/csv_log.h>
#include <rondo/tools/rondo/train/trace_json.h>
#include <rondo/tools/rondo/train/training_run.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

namespace rondo::program {

TrainingFiles::TrainingFiles(const ImageTraining& arguments)
    : log("--log", arguments.log),
      plot("--plot", arguments.plot),
      trace("--trace", arguments.trace),
      html("--html", arguments.html) {}

void TrainingFiles::check_are_not(const IdxDataSet& data) const {
  for (const OutputFile* file : all())
    for (const IdxDataSet::File& input : data.files) file->check_is_not(kFileOfData, input.path);
}

void show_field(std::ostream& out, const Terminal& terminal, const std::string& label,
                const std::string& text) {
  out << inked(terminal, Ink::dim, left(label, 10)) << printable(text) << "\n";
}

std::vector<std::string> device_texts(const std::vector<int>& devices) {
  std::vector<std::pair<std::string, std::vector<int>>> kinds;
  for (int device : std::set<int>(devices.begin(), devices.end())) {
    std::string kind = describe_device(device);
    const std::string label = device_label(device) + ", ";
    if (kind.starts_with(label)) kind.erase(0, label.size());
    if (kinds.empty() || kinds.back().first != kind) kinds.push_back({kind, {}});
    kinds.back().second.push_back(device);
  }
  std::vector<std::string> texts;
  for (const auto& [kind, members] : kinds) texts.push_back(device_list(members) + " " + kind);
  return texts;
}

void show_placement(const std::vector<int>& devices, bool asked, std::ostream& out,
                    const Terminal& terminal) {
  const char* title = "devices";
  for (const std::string& text : device_texts(devices)) {
    show_field(out, terminal, title, text);
    title = "";
  }
  if (devices.size() == std::set<int>(devices.begin(), devices.end()).size()) return;
  show_field(out, terminal, "replicas",
             asked ? device_list(devices)
                   : concat("two ranks share ", device_label(0), ": this machine has one GPU"));
}

namespace {

struct DataFolder {
  std::string path;
  bool named;  // by the user, so it may hold any data
};

DataFolder data_folder(const ImageTraining& arguments) {
  const std::string directory = arguments.data.value_or(fashion_mnist_directory());
  const bool named = arguments.data || directory != kInstalledFashionMnist;
  if (const std::string why = why_no_folder(directory); !arguments.data && !why.empty()) {
    throw Error(bad_argument("Fashion-MNIST was not found (", directory, " ", why,
                             "): install the package dataset-fashion-mnist, or name a directory with "
                             "its four files by --data DIR or RONDO_DATA=DIR"));
  }
  return {directory, named};
}

}  // namespace

FashionMnist load_fashion_mnist_images(const ImageTraining& arguments) {
  const DataFolder folder = data_folder(arguments);
  FashionMnist data = load_fashion_mnist(folder.path, folder.named ? Checksums::report : Checksums::require);
  if (arguments.limit) keep_first(data, *arguments.limit);
  return data;
}

IdxDataSet load_images(const ImageTraining& arguments, bool classes_are_known) {
  const DataFolder folder = data_folder(arguments);
  IdxDataSet data = load_idx_folder(folder.path, {.classes = kMostClasses});
  if (arguments.classes && *arguments.classes < data.classes)
    throw Error(bad_argument("--classes is ", *arguments.classes, ", must be at least ", data.classes,
                             ": the largest label in ", folder.path, " is ", data.classes - 1));
  if (!folder.named && !is_fashion_mnist(data))
    static_cast<void>(load_fashion_mnist(folder.path, Checksums::require));  // throws: it names the file
  data.classes = arguments.classes.value_or(data.classes);
  if (data.classes < 2 && !classes_are_known)
    throw Error(bad_argument(data.files[1].path,
                             ": all labels are 0, must be of at least two classes, or --classes be given"));
  if (arguments.limit) keep_first(data, *arguments.limit);
  return data;
}

ModelImages images_of(const IdxDataSet& data) { return {data.image, data.classes}; }

std::string model_text(const std::string& name, const nn::Graph& graph, const IdxDataSet& data) {
  std::string command = "rondo summary " + name;
  if (data.image != FashionMnist::kImage) command += " --image " + image_option(data.image);
  if (data.classes != FashionMnist::kClasses) command += concat(" --classes ", data.classes);
  return concat(name, ", ", grouped(graph.parameter_count()), " parameters (", command, " shows them)");
}

std::string images_text(const IdxDataSet& data, bool limited) {
  const bool authentic = is_fashion_mnist(data), grey = data.image.channels == 1;
  return concat(authentic                            ? "Fashion-MNIST (SHA-256 verified): "
                : data.image == FashionMnist::kImage ? "not the original Fashion-MNIST: "
                                                     : "",
                limited ? "the first " : "", grouped(data.train_count), " training and ",
                grouped(data.test_count), " test images of ", data.image.height, " x ", data.image.width,
                grey ? "" : concat(" x ", data.image.channels),
                authentic ? "" : concat(", ", counted(data.classes, "class", "classes")));
}

namespace {

// Of `count` replicas, and what they share.
nn::MemoryEstimate times(const nn::MemoryEstimate& estimate, int64_t count,
                         const std::vector<nn::MemoryPart>& shared) {
  nn::MemoryEstimate all = estimate;
  for (nn::MemoryPart& part : all.parts) part.bytes = saturating_product({part.bytes, count});
  all.parts.insert(all.parts.end(), shared.begin(), shared.end());
  return all;
}

}  // namespace

void show_memory(const nn::MemoryEstimate& estimate, const std::vector<int>& devices,
                 const std::vector<nn::MemoryPart>& shared, std::ostream& out, const Terminal& terminal) {
  show_field(out, terminal, "memory", byte_size(times(estimate, 1, shared).total()) + " a replica");
  for (int device : std::set<int>(devices.begin(), devices.end()))
    throw_if_error(
        nn::check_fits(times(estimate, std::count(devices.begin(), devices.end(), device), shared), device));
}

std::vector<DeviceMemory> memory_of(const nn::MemoryEstimate& estimate, const std::vector<int>& devices,
                                    const std::vector<nn::MemoryPart>& shared) {
  std::vector<DeviceMemory> memory;
  for (int device : std::set<int>(devices.begin(), devices.end())) {
    const int64_t replicas = std::count(devices.begin(), devices.end(), device);
    const DeviceScope scope(device);
    size_t free = 0, capacity = 0;
    RONDO_CUDA_THROW(cudaMemGetInfo(&free, &capacity));
    DeviceMemory& to =
        memory.emplace_back(DeviceMemory{device_label(device), replicas, static_cast<int64_t>(capacity), {}});
    for (const nn::MemoryPart& part : times(estimate, replicas, shared).parts)
      if (part.bytes > 0) to.parts.emplace_back(part.name, part.bytes);
  }
  return memory;
}

namespace {

std::string picture(const std::vector<EpochReport>& epochs, const RunTitle& title) {
  Curve loss{.colour = "#2a6fdb", .points = {}}, accuracy{.colour = "#e4572e", .points = {}};
  double seconds = 0;
  for (const EpochReport& epoch : epochs) {
    loss.points.push_back({epoch.epoch, epoch.train_loss});
    accuracy.points.push_back({epoch.epoch, epoch.test_accuracy});
    seconds += epoch.seconds;
  }
  const std::string pace = duration(seconds / static_cast<double>(epochs.size())) + " an epoch";
  return plot_svg(title.title, title.recipe + ", " + pace,
                  {{.name = "training loss", .curves = {loss}},
                   {.name = "test accuracy", .curves = {accuracy}, .top = 1, .as_percent = true}});
}

// Random guessing has the loss log(10); a training with a loss hundreds of times larger does not recover.
constexpr double kDivergedLoss = 1000;
bool has_diverged(const EpochReport& report) { return !(report.train_loss < kDivergedLoss); }  // NaN too

// A page with a timeline may have megabytes, and an epoch may take milliseconds.
constexpr std::chrono::seconds kPageEvery(2);

}  // namespace

void RunCallbacks::continue_log(int64_t epoch) {
  if (!files_.log.wanted()) return;
  if (!is_name(files_.log.target())) return;
  const auto text = RegularFile(files_.log.target()).contents<std::string>(kMostTextBytes);
  if (text.empty()) return;
  for (const EpochReport& logged : parse_csv_log(files_.log.path(), text))
    if (logged.epoch < epoch) record_.epochs.push_back(logged);
}

void RunCallbacks::show(const TrainingProgress& progress) {
  display_.show(progress);
  record_.losses.add(progress);
}

void RunCallbacks::log(const EpochReport& report) {
  if (!record_.epochs.empty() && record_.epochs.back().epoch == report.epoch) return;  // by before_save()
  record_.epochs.push_back(report);
  if (files_.log.wanted()) files_.log.write(csv_log(record_.epochs));
}

void RunCallbacks::before_save(const EpochReport& report) {
  if (has_diverged(report)) show(report);
  log(report);
}

void RunCallbacks::show(const EpochReport& report) {
  log(report);
  display_.show(report);
  if (files_.plot.wanted()) files_.plot.write(picture(record_.epochs, title_));
  if (has_diverged(report)) {
    const std::string reason =
        concat("the loss of epoch ", report.epoch, " is ", loss_text(report.train_loss),
               ": the training diverged; a learning rate below ", learning_rate_, " may help");
    write_page("failed", reason);
    throw TrainingFailed(reason);
  }
  if (std::chrono::steady_clock::now() - page_written_ >= kPageEvery) write_page("running");
}

void RunCallbacks::write_page(const std::string& state, const std::string& reason) {
  if (!files_.html.wanted()) return;
  record_.state = state;
  record_.reason = reason;
  if (trace_) put_trace(*trace_, record_);
  files_.html.write(run_page(record_));
  page_written_ = std::chrono::steady_clock::now();
}

void put_trace(const Trace& trace, RunRecord& record) {
  try {
    record.trace = trace_json(trace.collect(), trace.devices());
  } catch (const Error& error) {  // of a device that failed, for example
    record.no_trace = concat("The timeline could not be read: ", error.what());
  }
}

void show_graph_refusal(const Status& refusal, std::ostream& out, const Terminal& terminal) {
  if (refusal.ok()) return;
  show_field(out, terminal, "steps",
             "enqueued call by call, which is slower: CUDA rejected the graph, " + refusal.message());
}

void show_verification(int64_t steps, int64_t differing_values, std::ostream& out, const Terminal& terminal) {
  if (differing_values != 0)
    throw TrainingFailed(concat("the replicas differ: ", counted(differing_values, "value"), " in ",
                                counted(steps, "step"), ", must be none"));
  out << inked(terminal, Ink::good,
               concat("verified: all replicas bitwise equal after each of ", grouped(steps, "step")))
      << "\n";
}

void show_written(const TrainingFiles& files, std::ostream& out) {
  for (const OutputFile* file : files.all())
    if (file->wanted()) out << "wrote " << file->shown() << "\n";
}

}  // namespace rondo::program
