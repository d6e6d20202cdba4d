// `rondo train lenet` and `rondo train resnet18`: train a network of modules in nn::DataParallel with
// nn::fit.
#pragma once

#include <rondo/nn/data/fashion_mnist.h>
#include <rondo/nn/fit/fit.h>
#include <rondo/tools/rondo/support/terminal.h>
#include <rondo/tools/rondo/train/arguments.h>

#include <memory>
#include <ostream>

namespace rondo::program {

// Returns the signal that ended the training early, or 0. Throws rondo::Error (a bad_argument before the
// training starts and before any file is written) and TrainingFailed.
//
// `processes`: the processes that train together, each with its own call; null: this process only. The first
// process prints and writes all output.
int train_network(const NetworkArguments& arguments, std::ostream& out, const Terminal& terminal,
                  ProcessGroup* processes = nullptr);

// All settings, with defaults filled in.
struct TrainingPlan {
  nn::DataParallelOptions model;
  nn::FitOptions fit;
  double rate;
  int64_t steps;  // per epoch
};
// Checks what does not depend on the data, so that it is refused before they are loaded. Throws a
// bad_argument Error.
void check_options(const NetworkArguments& arguments, const ProcessGroup* processes);
// Checks the arguments against the data. `devices`: of take_ranks(). Throws a bad_argument Error. To be
// called after check_options().
TrainingPlan plan_for(const NetworkArguments& arguments, const IdxDataSet& data, std::vector<int> devices,
                      ProcessGroup* processes);

std::unique_ptr<nn::Optimizer> make_optimizer(nn::DataParallel& model, const OptimizerArguments& arguments,
                                              double learning_rate);
// The optimizer's memory, in arenas of the parameters' size.
nn::OptimizerSize size_of(const OptimizerArguments& arguments);
// "adam, weight decay 0.01"
std::string text(const OptimizerArguments& arguments);

}  // namespace rondo::program
