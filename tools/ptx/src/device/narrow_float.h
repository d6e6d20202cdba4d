// 8-bit floats.
#pragma once

#include "instruction_table.h"

namespace ptx {

float e4m3_to_float(uint8_t bits);
float e5m2_to_float(uint8_t bits);

// cvt to or from e4m3x2, e5m2x2. False: it is another conversion.
bool decode_narrow(Decoder& decoder, Draft& draft, Type from, Type to);

}  // namespace ptx
