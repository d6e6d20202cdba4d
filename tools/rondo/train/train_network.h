// `rondo train lenet` and `rondo train resnet18`: a network of modules behind nn::DataParallel, trained by
// nn::fit.
#pragma once

#include <rondo/nn/train/fit.h>
#include <rondo/tools/rondo/support/terminal.h>
#include <rondo/tools/rondo/train/arguments.h>

#include <memory>
#include <ostream>

namespace rondo::program {

// Returns the signal that ended the training before its time, or 0. Throws rondo::Error (a bad_argument before the training starts
// and before any file is written) and TrainingFailed.
//
// `processes`: those that train together, each with its own call; null: this one alone. The first of them
// shows and writes everything.
int train_network(const NetworkArguments& arguments, std::ostream& out, const Terminal& terminal,
                  ProcessGroup* processes = nullptr);

// Everything that was asked for, with what was not said filled in.
struct TrainingPlan {
  nn::DataParallelOptions model;
  nn::FitOptions fit;
  double rate;
  int64_t steps;  // of an epoch
};
// Refuses what does not fit the data, and only then what this machine does not have: a message does not
// depend on the machine where it need not. Throws a bad_argument Error.
TrainingPlan plan_for(const NetworkArguments& arguments, const FashionMnist& data, ProcessGroup* processes);

// Throws a bad_argument Error for options that the optimizer does not have.
void check(const OptimizerArguments& arguments);
std::unique_ptr<nn::Optimizer> make_optimizer(nn::DataParallel& model, const OptimizerArguments& arguments,
                                              double learning_rate);
// How many arenas of the parameters' size it keeps.
nn::OptimizerSize size_of(const OptimizerArguments& arguments);
// "adam, weight decay 0.01"
std::string text(const OptimizerArguments& arguments);

}  // namespace rondo::program
