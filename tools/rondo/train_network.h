// `rondo train resnet18`: a network of modules behind nn::DataParallel, trained by nn::fit.
#pragma once

#include <rondo/nn/data_parallel.h>
#include <rondo/tools/rondo/terminal.h>
#include <rondo/tools/rondo/train_arguments.h>

#include <memory>
#include <ostream>

namespace rondo::program {

// Returns the signal that ended the training before its time, or 0. Throws rondo::Error (a bad_argument before the training starts
// and before any file is written) and TrainingFailed.
int train_network(const NetworkArguments& arguments, std::ostream& out, const Terminal& terminal);

// Throws a bad_argument Error for options that the optimizer does not have.
void check(const OptimizerArguments& arguments);
std::unique_ptr<nn::Optimizer> make_optimizer(nn::DataParallel& model, const OptimizerArguments& arguments,
                                              double learning_rate);
// How many arenas of the parameters' size it keeps.
nn::OptimizerSize size_of(const OptimizerArguments& arguments);
// "adam, weight decay 0.01"
std::string text(const OptimizerArguments& arguments);

}  // namespace rondo::program
