// `rondo numerics`: the errors of the arithmetics of a matrix product, beside each other.
#pragma once

#include <rondo/tools/rondo/numerics/arguments.h>

#include <ostream>

namespace rondo::program {

// Computes products in each arithmetic that the device has and prints their errors, and the results of
// special values. Throws rondo::Error.
void show_numerics(const NumericsArguments& arguments, std::ostream& out);

}  // namespace rondo::program
