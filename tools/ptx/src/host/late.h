#pragma once

#include "../device/interpreter.h"

namespace ptx {

// When asynchronous operations happen: PTX_LATE, a list of copies, bulk and products, or none; without it,
// all of them are late if SIMT_LATE_COPIES is 1. A program may set it by simt::set_late_copies().
Lateness lateness();

}  // namespace ptx
