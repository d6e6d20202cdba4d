// The settings of a training that determine its bits, as its checkpoint keeps them (TrainingState::recipe):
// by their names ("learning_rate"), whatever the options of the program are called ("--lr").
#pragma once

#include <rondo/tools/rondo/support/image_model.h>
#include <rondo/tools/rondo/train/train_network.h>

#include <map>
#include <ostream>
#include <string>

namespace rondo::program {

using Settings = std::map<std::string, std::string>;

// All settings of a training, except for those that the command never changes.
Settings settings_of(const TrainingPlan& plan, const NetworkArguments& arguments, const IdxDataSet& data);

// Those of a checkpoint. Older versions stored them under the names of the options.
Settings settings_in(const nn::TrainingState& state);

// The images of the training that stored a checkpoint, as far as it stored them, and their normalisation.
ModelImages images_in(const nn::TrainingState& state);
nn::Normalize normalize_in(const nn::TrainingState& state);

// Throws a bad_argument Error in every process if the settings of the processes differ.
void check_same_settings(const nn::World& world, const Settings& settings);

// Throws a bad_argument Error if this training would not continue the checkpoint's. The message names all
// differing options, except for defaults that differ because of another option: the batch, the devices or the
// schedule.
void check_goes_on(const nn::TrainingState& state, const TrainingPlan& plan,
                   const NetworkArguments& arguments);

// Prints the permitted differences, one per line.
void show_differences(const Settings& ours, const Settings& theirs, std::ostream& out,
                      const Terminal& terminal);

}  // namespace rondo::program
