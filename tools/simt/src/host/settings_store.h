#pragma once

#include <simt/settings.h>

namespace simt {

Settings& mutable_settings();

}  // namespace simt
