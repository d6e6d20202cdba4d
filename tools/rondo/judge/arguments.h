#pragma once

#include <rondo/tools/rondo/support/command.h>

namespace rondo::program {

void add_judge(Program& program);

}  // namespace rondo::program
