// `rondo devices`: the devices, what they have, and which of them reach each other's memory.
#pragma once

#include <rondo/tools/rondo/arguments.h>

#include <ostream>

namespace rondo::program {

// Throws rondo::Error.
void show_devices(const DevicesArguments& arguments, std::ostream& out);

}  // namespace rondo::program
