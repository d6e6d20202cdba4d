// What a device calls itself.
#pragma once

#include <string>

namespace rondo::program {

std::string device_name(int device);

}  // namespace rondo::program
