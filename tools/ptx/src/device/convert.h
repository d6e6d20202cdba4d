// Conversions with 8-bit floats.
#pragma once

#include "instruction_table.h"

namespace ptx {

// cvt to or from e4m3x2, e5m2x2. False: it is another conversion.
bool decode_narrow(Decoder& decoder, Draft& draft, Type from, Type to);

}  // namespace ptx
