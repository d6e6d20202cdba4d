#include <cuda_fp16.h>
#include <rondo/kernels/core/status.h>
#include <rondo/tools/rondo/judge/case.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace rondo::program {

int Sizes::operator[](std::string_view name) const {
  for (const auto& [known, value] : sizes_)
    if (known == name) return value;
  throw std::logic_error(concat("a case has no size '", name, "'"));
}

std::string Sizes::text() const {
  std::string text;
  for (const auto& [name, value] : sizes_) text += concat(text.empty() ? "" : ", ", name, "=", value);
  return text;
}

// The distributions of <random> differ between libraries; these do not.
std::vector<float> CaseRandom::floats(int64_t count, float low, float high) {
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = low + (high - low) * static_cast<float>(engine_() >> 40) * 0x1p-24f;
  return values;
}

std::vector<uint16_t> CaseRandom::halves(int64_t count) {
  // Multiples of 2^-10 in [-1, 1) are float16 numbers.
  std::vector<uint16_t> values(static_cast<size_t>(count));
  for (uint16_t& bits : values)
    bits = __half_as_ushort(__float2half(static_cast<float>(integer(-1024, 1023)) * 0x1p-10f));
  return values;
}

int CaseRandom::integer(int low, int high) {
  const auto range = static_cast<uint64_t>(static_cast<int64_t>(high) - low + 1);
  return low + static_cast<int>((engine_() >> 32) * range >> 32);
}

double half_value(uint16_t bits) { return __half2float(__ushort_as_half(bits)); }

const char* name_of(Element element) {
  constexpr const char* kNames[] = {"float32", "float16", "int32", "uint32", "uint8"};
  return kNames[static_cast<size_t>(element)];
}

size_t bytes_of(Element element) {
  constexpr size_t kBytes[] = {4, 2, 4, 4, 1};
  return kBytes[static_cast<size_t>(element)];
}

bool agrees(double got, double wanted, const Expected& with) {
  if (std::isnan(wanted)) return std::isnan(got);
  if (std::isinf(wanted)) return got == wanted;
  return std::abs(got - wanted) <= with.absolute + with.relative * std::abs(wanted);
}

double Case::least_bytes() const {
  double bytes = 0;
  for (const Argument& argument : arguments) {
    if (argument.role == Role::scalar || argument.place == Place::pinned) continue;
    const double array =
        static_cast<double>(argument.count) * static_cast<double>(bytes_of(argument.element));
    bytes += argument.role == Role::in_out ? 2 * array : array;
  }
  return bytes;
}

std::optional<uint64_t> Case::least_pinned_bytes() const {
  std::optional<uint64_t> least;
  for (const Argument& argument : arguments) {
    if (argument.place != Place::pinned) continue;
    const uint64_t bytes = static_cast<uint64_t>(argument.count) * bytes_of(argument.element);
    least = std::min(least.value_or(bytes), bytes);
  }
  return least;
}

}  // namespace rondo::program
