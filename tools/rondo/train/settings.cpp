#include <rondo/tools/rondo/train/settings.h>

#include <rondo/kernels/core/counted.h>
#include <rondo/nn/io/safetensors.h>
#include <rondo/tools/rondo/support/option_readers.h>
#include <rondo/tools/rondo/train/ranks.h>
#include <rondo/tools/rondo/train/training_run.h>

#include <algorithm>
#include <set>
#include <span>

namespace rondo::program {

namespace {

struct Setting {
  const char *name, *option;
  bool negated = false;  // the option turns the setting off
};

// In the order of the options' names, in which messages list them.
constexpr Setting kSettings[] = {{"algorithm", "--algorithm"},
                                 {"batch", "--batch"},
                                 {"classes", "--classes"},
                                 {"crop", "--crop"},
                                 {"data", "--data"},
                                 {"devices", "--devices"},
                                 {"epochs", "--epochs"},
                                 {"erase", "--erase"},
                                 {"flip", "--flip"},
                                 {"learning_rate", "--lr"},
                                 {"mean", "--mean"},
                                 {"micro_batches", "--micro-batches"},
                                 {"momentum", "--momentum"},
                                 {"nesterov", "--nesterov"},
                                 {"sync_batch_norm", "--no-sync-bn", true},
                                 {"optimizer", "--optimizer"},
                                 {"precision", "--precision"},
                                 {"reduce_dtype", "--reduce-dtype"},
                                 {"schedule", "--schedule"},
                                 {"seed", "--seed"},
                                 {"std", "--std"},
                                 {"warmup_steps", "--warmup-steps"},
                                 {"weight_decay", "--weight-decay"},
                                 {"weights", "--weights"}};

constexpr const char* kNone = "none";

std::string list_text(const std::vector<float>& numbers) {
  std::string text;
  for (const float number : numbers) text += (text.empty() ? "" : ",") + exact_text(number);
  return numbers.empty() ? kNone : text;
}

std::string on_or_off(bool on) { return on ? "on" : "off"; }

// The value of a setting as that of its option, or the reverse.
std::string for_option(const Setting& setting, const std::string& value) {
  return setting.negated ? on_or_off(value == "off") : value;
}

}  // namespace

Settings settings_of(const TrainingPlan& plan, const NetworkArguments& arguments, const IdxDataSet& data) {
  const auto stored = [](const char* name, const std::vector<uint8_t>& values) {
    return StoredTensor{
        name, StoredType::u8, {static_cast<int64_t>(values.size())}, std::as_bytes(std::span(values))};
  };
  const OptimizerArguments& optimizer = arguments.optimizer;
  Settings settings = {
      {"devices", ranks_text(plan.model)},
      {"algorithm", name_of(plan.model.algorithm)},
      {"weights", arguments.from.empty() ? arguments.weights : "loaded"},
      {"batch", exact_text(plan.model.batch)},
      {"classes", exact_text(data.classes)},
      {"crop", exact_text(arguments.crop)},
      {"erase", exact_text(arguments.erase)},
      {"flip", on_or_off(arguments.flip)},
      {"image", image_option(data.image)},  // not compared: the model's fingerprint is
      {"mean", list_text(plan.fit.normalize.mean)},
      {"std", list_text(plan.fit.normalize.stddev)},
      {"data",
       concat(data.train_count, " images with the checksum ",
              checksum(std::vector{stored("images", data.train_images), stored("labels", data.train_labels)},
                       {}))},
      {"sync_batch_norm", on_or_off(plan.model.sync_batch_norm)},
      {"learning_rate", exact_text(plan.rate)},
      {"micro_batches", exact_text(arguments.micro_batches)},
      {"momentum", exact_text(optimizer.momentum)},
      {"nesterov", on_or_off(optimizer.nesterov)},
      {"optimizer", name_of(optimizer.kind)},
      {"precision", name_of(arguments.precision)},
      {"reduce_dtype", name_of(arguments.reduce_dtype)},
      {"schedule", arguments.schedule},
      {"seed", exact_text(arguments.seed)},
      {"warmup_steps", exact_text(arguments.warmup)},
      {"weight_decay", exact_text(optimizer.weight_decay)}};
  if (arguments.schedule.starts_with("cosine")) settings["epochs"] = exact_text(arguments.epochs);
  return settings;
}

Settings settings_in(const nn::TrainingState& state) {
  Settings settings = state.recipe;
  for (const Setting& setting : kSettings)
    if (const auto old = settings.extract(setting.option); !old.empty())
      settings.emplace(setting.name, for_option(setting, old.mapped()));
  // Checkpoints of versions that had no other.
  for (const char* name : {"precision", "reduce_dtype"}) settings.emplace(name, name_of(Precision::fp32));
  for (const auto& [name, value] : {std::pair("classes", "10"),
                                    {"crop", "0"},
                                    {"erase", "0"},
                                    {"flip", "off"},
                                    {"mean", kNone},
                                    {"std", kNone}})
    settings.emplace(name, value);
  return settings;
}

ModelImages images_in(const nn::TrainingState& state) {
  ModelImages images;
  const auto find = [&](const char* name) {
    const auto found = state.recipe.find(name);
    return found == state.recipe.end() ? std::string() : found->second;
  };
  if (const std::string text = find("image"); !text.empty()) images.image = read_image("its image", text);
  if (const std::string text = find("classes"); !text.empty())
    images.classes = read_integer<int64_t>("its number of classes", text, 2, kMostClasses);
  return images;
}

nn::Normalize normalize_in(const nn::TrainingState& state) {
  const Settings settings = settings_in(state);
  const auto numbers = [&](const char* name) {
    const std::string& text = settings.at(name);
    return text == kNone ? std::vector<float>() : read_numbers(name, text);
  };
  return {numbers("mean"), numbers("std")};
}

void check_same_settings(const nn::World& world, const Settings& settings) {
  for (const Setting& setting : kSettings)
    if (const auto found = settings.find(setting.name); found != settings.end())
      world.check_same(setting.option, for_option(setting, found->second));
}

void check_goes_on(const nn::TrainingState& state, const TrainingPlan& plan,
                   const NetworkArguments& arguments) {
  const Settings &ours = plan.fit.from.recipe, theirs = settings_in(state);
  const auto differs = [&](const std::string& name) { return ours.at(name) != theirs.at(name); };
  for (const Setting& setting : kSettings)
    if (ours.contains(setting.name) && !theirs.contains(setting.name) &&
        setting.name != std::string("epochs"))
      throw Error(
          bad_argument("it was not made by rondo train ", arguments.model, ": it has no ", setting.option));
  const std::set<std::string> may_differ = {"devices", "algorithm", "weights"};
  std::string different;
  for (const Setting& setting : kSettings) {
    const std::string name = setting.name;
    if (!ours.contains(name) || !theirs.contains(name) || !differs(name) || may_differ.contains(name))
      continue;
    if (name == "learning_rate" && !arguments.lr && differs("batch")) continue;
    const bool follows = name == "batch" && !arguments.batch && differs("devices");
    different +=
        concat(different.empty() ? "" : "; ", setting.option, " is ", for_option(setting, ours.at(name)),
               follows ? concat(" with --devices ", ours.at("devices")) : "", ", must be ",
               for_option(setting, theirs.at(name)));
  }
  if (!different.empty())
    throw Error(bad_argument("the options differ from those of its training: ", different));
  if (state.epoch < 1 || state.step >= plan.steps)
    throw Error(bad_argument("it continues in epoch ", state.epoch, " after ", counted(state.step, "step"),
                             ", must be an epoch from 1 and fewer than ", counted(plan.steps, "step")));
  if (state.epoch > plan.fit.epochs)
    throw Error(
        bad_argument("--epochs is ", plan.fit.epochs, ", must be more: it has ", state.epoch - 1, " done"));
}

void show_differences(const Settings& ours, const Settings& theirs, std::ostream& out,
                      const Terminal& terminal) {
  const auto differs = [&](const char* name) { return ours.at(name) != theirs.at(name); };
  constexpr const char* kOtherSums = ": from now on sums are added in another order";
  const std::string &our_devices = ours.at("devices"), &their_devices = theirs.at("devices");
  const bool counts = (our_devices + their_devices).find(' ') == std::string::npos;
  const auto ranks = [](const std::string& text) {
    return (text.find(' ') == std::string::npos ? "--devices " : "sums over ") + text;
  };
  if (differs("devices"))
    show_field(out, terminal, "",
               concat("with ", ranks(our_devices), ", the checkpoint was made with ",
                      counts ? their_devices : ranks(their_devices), kOtherSums));
  else if (differs("algorithm") && our_devices != "1")
    show_field(out, terminal, "",
               concat("with --algorithm ", ours.at("algorithm"), ", the checkpoint was made with ",
                      theirs.at("algorithm"), kOtherSums));
  if (differs("weights"))
    show_field(out, terminal, "",
               concat("--weights ", ours.at("weights"), " has no effect: the training began with ",
                      theirs.at("weights"), " weights"));
}

}  // namespace rondo::program
