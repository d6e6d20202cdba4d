// The name of a device, from its properties.
#pragma once

#include <string>

namespace rondo::program {

std::string device_name(int device);

}  // namespace rondo::program
