#include "tensor_elements.h"

#include "narrow_float.h"

namespace ptx {

int elements_in_word(Type type) {
  switch (type) {
    case Type::tf32:
      return 1;
    case Type::f16:
    case Type::bf16:
      return 2;
    case Type::e4m3:
    case Type::e5m2:
    case Type::s8:
    case Type::u8:
      return 4;
    case Type::s4:
    case Type::u4:
      return 8;
    case Type::b1:
      return 32;
    default:
      return 0;
  }
}

void unpack_narrow(Type type, uint32_t word, float* elements) {
  const auto put = [&](int count, auto value_of) {
    for (int e = 0; e < count; ++e) elements[e] = static_cast<float>(value_of(word >> (32 / count * e)));
  };
  switch (type) {
    case Type::e4m3:
      put(4, [](uint32_t bits) { return e4m3_to_float(static_cast<uint8_t>(bits)); });
      break;
    case Type::e5m2:
      put(4, [](uint32_t bits) { return e5m2_to_float(static_cast<uint8_t>(bits)); });
      break;
    case Type::s8:
      put(4, [](uint32_t bits) { return static_cast<int8_t>(bits); });
      break;
    case Type::u8:
      put(4, [](uint32_t bits) { return static_cast<uint8_t>(bits); });
      break;
    case Type::s4:
      put(8, [](uint32_t bits) { return static_cast<int32_t>(bits << 28) >> 28; });
      break;
    case Type::u4:
      put(8, [](uint32_t bits) { return bits & 15; });
      break;
    case Type::b1:
      put(32, [](uint32_t bits) { return bits & 1; });
      break;
    default:
      break;
  }
}

}  // namespace ptx
