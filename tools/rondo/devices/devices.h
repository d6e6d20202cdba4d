// `rondo devices`: lists the devices, their properties and their peer access.
#pragma once

#include <rondo/tools/rondo/devices/arguments.h>

#include <ostream>

namespace rondo::program {

// Throws rondo::Error.
void show_devices(const DevicesArguments& arguments, std::ostream& out);

}  // namespace rondo::program
