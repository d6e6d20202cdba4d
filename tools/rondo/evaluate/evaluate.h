// `rondo evaluate`: loss and accuracy of saved parameters on the test images.
#pragma once

#include <rondo/tools/rondo/evaluate/arguments.h>
#include <rondo/tools/rondo/support/terminal.h>

#include <ostream>

namespace rondo::program {

// Throws rondo::Error.
void evaluate(const EvaluateArguments& arguments, std::ostream& out, const Terminal& terminal);

}  // namespace rondo::program
