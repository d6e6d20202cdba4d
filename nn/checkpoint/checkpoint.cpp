#include <rondo/kernels/core/counted.h>
#include <rondo/nn/checkpoint/checkpoint.h>
#include <rondo/nn/checkpoint/device_tensors.h>
#include <rondo/nn/io/about_file.h>
#include <rondo/nn/io/parse.h>
#include <rondo/nn/io/safetensors.h>
#include <rondo/nn/io/sha256.h>
#include <rondo/version.h>

#include <cmath>
#include <cstring>

namespace rondo::nn {
namespace {

using Metadata = std::map<std::string, std::string>;

constexpr const char* kCheckpoint = "rondo checkpoint";
constexpr const char* kParameters = "rondo parameters";
constexpr const char* kForeignParameters = "parameters";  // of another program, without a checksum
constexpr const char* kFormatVersion = "2";
constexpr const char* kChecksum = "crc32";
constexpr std::string_view kRecipe = "recipe.";  // prefix of the caller's names
constexpr const char* kLayouts = "activations NHWC, convolutions KRSC, linear [inputs, outputs]";

template <class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  throw Error(bad_argument(parts...));
}

const std::string& entry(const Metadata& metadata, std::string_view key) {
  const auto found = metadata.find(std::string(key));
  if (found == metadata.end()) fail("its metadata has no '", key, "'");
  return found->second;
}

template <class Number>
Number number_of(const Metadata& metadata, const std::string& key) {
  const std::string& text = entry(metadata, key);
  const std::optional<Number> value = read_number<Number>(text);
  if (!value || !(*value >= Number{}))
    fail("its metadata has ", key, " '", shown_name(text), "', must be a number that is not negative");
  return *value;
}

void check_state(const TrainingState& state) {
  check_count("epoch", state.epoch);
  check_count("epoch_steps", state.step);
  check_count("batch", state.batch);
}

void expect(const Metadata& metadata, const std::string& key, const std::string& want,
            const std::string& whose) {
  const std::string& is = entry(metadata, key);
  if (is != want) fail("its ", key, " is '", shown_name(is), "', ", whose, " is '", want, "'");
}

// Identifies a network by the shapes of its input and output and all its tensors.
std::string fingerprint(const Graph& graph) {
  std::string description = concat(text(graph.input().shape), " to ", text(graph.output().shape), "\n");
  for (const auto* tensors : {&graph.parameters(), &graph.states()})
    for (const Parameter& p : *tensors)
      if (p.persistent) description += p.name + " " + text_of(stored_type(p), p.shape) + "\n";
  return sha256({reinterpret_cast<const uint8_t*>(description.data()), description.size()});
}

// Checksum of the tensors and the metadata, except the entry of the checksum itself.
std::string checksum_text(const std::vector<StoredTensor>& tensors, Metadata metadata) {
  metadata.erase(kChecksum);
  return exact_text(checksum(tensors, metadata));
}

// Rondo's own formats always have a checksum. For other formats it is checked if present, so that damage to
// the name of the format does not disable the check.
void check_contents(const Safetensors& file) {
  const auto format = file.metadata.find("format");
  const bool ours =
      format != file.metadata.end() && (format->second == kCheckpoint || format->second == kParameters);
  if (!ours && !file.metadata.contains(kChecksum)) return;
  const std::string &want = entry(file.metadata, kChecksum), is = checksum_text(file.tensors, file.metadata);
  if (want != is)
    fail("it is damaged: the ", kChecksum, " in its metadata is ", shown_name(want),
         ", that of its contents is ", is);
}

void append(std::vector<DeviceTensor>& to, std::vector<DeviceTensor> tensors) {
  to.insert(to.end(), std::make_move_iterator(tensors.begin()), std::make_move_iterator(tensors.end()));
}

// Parameters and states. One copy for all replicas; without sync_batch_norm, the states of each replica.
std::vector<DeviceTensor> tensors_to_save(DataParallel& model, Metadata& metadata) {
  std::vector<DeviceTensor> tensors = parameter_tensors(model);
  bool own = !model.options().sync_batch_norm && !model.graph().states().empty();
  if (own && model.world().processes())
    fail(
        "each replica has its own running statistics, must share them (sync_batch_norm) with several "
        "processes");
  own = own && !places_agree(state_tensors(model, false));
  if (own) metadata["own_statistics"] = exact_text(model.devices());
  append(tensors, state_tensors(model, own));
  return tensors;
}

std::vector<DeviceTensor> tensors_to_load(DataParallel& model, const Metadata& metadata) {
  std::vector<DeviceTensor> tensors = parameter_tensors(model);
  const bool own = metadata.contains("own_statistics");
  if (own) {
    const auto replicas = number_of<int64_t>(metadata, "own_statistics");
    if (model.options().sync_batch_norm || replicas != model.devices())
      fail("it has separate running statistics for ", counted(replicas, "replica"), ", the model has ",
           counted(model.devices(), "replica"), " with ",
           model.options().sync_batch_norm ? "shared" : "separate",
           " statistics; only its training can continue with it (--resume, with as many replicas), anything "
           "else needs a training without --no-sync-bn");
  }
  append(tensors, state_tensors(model, own));
  return tensors;
}

void write(const std::string& path, DataParallel& model, const std::vector<DeviceTensor>& tensors,
           Metadata metadata) {
  const HostTensors host = download(tensors);
  metadata["format_version"] = kFormatVersion;
  metadata["rondo_version"] = RONDO_VERSION_STRING;
  metadata["layouts"] = kLayouts;
  metadata["model"] = fingerprint(model.graph());
  metadata[kChecksum] = checksum_text(host.tensors, metadata);
  write_safetensors(path, host.tensors, metadata);
}

// Checks that a file is Rondo's, undamaged and of a supported version.
void check_file(const Safetensors& file) {
  const auto version = file.metadata.find("format_version");
  if (version == file.metadata.end())
    fail("it was not written by Rondo: its metadata has no 'format_version'");
  if (version->second == "1")
    fail("its format_version is '1', which has no checksum of the metadata, must be '", kFormatVersion,
         "': docs/checkpoints.md describes how to load its parameters");
  expect(file.metadata, "format_version", kFormatVersion, "the supported one");
  check_contents(file);
  expect(file.metadata, "layouts", kLayouts, "the model's");
}

void check_belongs(const Optimizer& optimizer, DataParallel& model) {
  for (size_t rank = 0; rank < model.replicas().size(); ++rank)
    if (!optimizer.serves(model.replicas()[rank], rank))
      fail("the optimizer was made for another model, must be for this one");
}

void check_same_model(const Metadata& metadata, const DataParallel& model) {
  expect(metadata, "model", fingerprint(model.graph()), "the hash of this model's tensors, input and output");
  expect(metadata, "seed", exact_text(model.options().seed), "the model's");
}

// Must run before the tensors are compared: the optimizer's settings determine which tensors there are.
void check_same_optimizer(const Metadata& metadata, const Optimizer& optimizer) {
  expect(metadata, "optimizer", optimizer.kind(), "that of this training");
  for (const OptimizerSetting& setting : optimizer.settings())
    expect(metadata, "optimizer." + setting.name, exact_text(setting.value), "the optimizer's");
}

TrainingState state_in(const Metadata& metadata) {
  TrainingState state = {number_of<int64_t>(metadata, "epoch"), number_of<int64_t>(metadata, "epoch_steps"),
                         number_of<uint64_t>(metadata, "data_seed"), number_of<int64_t>(metadata, "batch")};
  for (const auto& [key, value] : metadata)
    if (key.starts_with(kRecipe)) state.recipe[key.substr(kRecipe.size())] = value;
  check_state(state);
  return state;
}

}  // namespace

void save_checkpoint(const std::string& path, DataParallel& model, Optimizer& optimizer,
                     const TrainingState& state) {
  about_file(path, [&] {
    check_belongs(optimizer, model);
    check_state(state);
    model.throw_if_failed();
    Metadata metadata = {{"format", kCheckpoint},
                         {"seed", exact_text(model.options().seed)},
                         {"replicas", exact_text(model.world().size())},
                         {"optimizer", optimizer.kind()},
                         {"learning_rate", exact_text(optimizer.learning_rate())},
                         {"epoch", exact_text(state.epoch)},
                         {"epoch_steps", exact_text(state.step)},
                         {"data_seed", exact_text(state.seed)},
                         {"batch", exact_text(state.batch)}};
    for (const auto& [name, value] : state.recipe) metadata[concat(kRecipe, name)] = value;
    for (const OptimizerSetting& setting : optimizer.settings())
      metadata["optimizer." + setting.name] = exact_text(setting.value);
    std::vector<DeviceTensor> tensors = tensors_to_save(model, metadata);
    append(tensors, training_tensors(model, optimizer));
    write(path, model, tensors, std::move(metadata));
  });
}

TrainingState load_checkpoint(const std::string& path, DataParallel& model, Optimizer& optimizer,
                              const std::function<void(const TrainingState&)>& accept) {
  return about_file(path, [&] {
    check_belongs(optimizer, model);
    const Safetensors file = read_safetensors(path);
    check_file(file);
    expect(file.metadata, "format", kCheckpoint, "that of a checkpoint");
    model.world().check_same("the checkpoint's checksum", entry(file.metadata, kChecksum));
    const TrainingState state = state_in(file.metadata);
    if (accept) accept(state);
    check_same_optimizer(file.metadata, optimizer);
    std::vector<DeviceTensor> tensors = tensors_to_load(model, file.metadata);
    append(tensors, training_tensors(model, optimizer));
    const std::vector<const StoredTensor*> contents = matching(file, tensors);
    check_counters(contents);
    check_same_model(file.metadata, model);
    const auto rate = number_of<float>(file.metadata, "learning_rate");
    if (!std::isfinite(rate)) fail("its learning rate is ", rate, ", must be finite");
    // All checks have passed. From here on the model changes.
    model.streams().synchronize();
    upload(tensors, contents);
    model.group().clear_nonfinite_value();
    optimizer.set_learning_rate(rate);
    return state;
  });
}

std::optional<TrainingState> read_training_state(const std::string& path) {
  return about_file(path, [&]() -> std::optional<TrainingState> {
    const Metadata metadata = read_safetensors_head(path).metadata;
    const auto format = metadata.find("format");
    if (format == metadata.end() || format->second != kCheckpoint) return std::nullopt;
    const Safetensors file = read_safetensors(path);
    check_file(file);
    return state_in(file.metadata);
  });
}

void save_parameters(const std::string& path, DataParallel& model) {
  about_file(path, [&] {
    model.throw_if_failed();
    Metadata metadata = {{"format", kParameters}};
    const std::vector<DeviceTensor> tensors = tensors_to_save(model, metadata);
    write(path, model, tensors, std::move(metadata));
  });
}

void load_parameters(const std::string& path, DataParallel& model) {
  about_file(path, [&] { load_parameters(read_safetensors(path), model); });
}

bool has_rondo_format(const Safetensors& file) { return file.metadata.contains("format_version"); }

void load_parameters(const Safetensors& file, DataParallel& model) {
  check_file(file);
  model.world().check_same("the file's checksum", checksum_text(file.tensors, file.metadata));
  const std::string& format = entry(file.metadata, "format");
  if (format != kParameters && format != kCheckpoint && format != kForeignParameters)
    fail("its format is '", shown_name(format), "', must be '", kCheckpoint, "', '", kParameters, "' or '",
         kForeignParameters, "'");
  const std::vector<DeviceTensor> tensors = tensors_to_load(model, file.metadata);
  std::set<std::string> besides;
  if (format == kCheckpoint) besides = {"training.", "optimizer."};
  const std::vector<const StoredTensor*> contents = matching(file, tensors, besides);
  check_counters(contents);
  model.streams().synchronize();
  upload(tensors, contents);
  model.group().clear_nonfinite_value();
}

}  // namespace rondo::nn
