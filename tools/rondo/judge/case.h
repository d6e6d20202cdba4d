// Case: one call of a solution, with its arguments and the results it should have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace rondo::program {

// Named sizes of a case: "rows=33, columns=7".
class Sizes {
 public:
  Sizes(std::initializer_list<std::pair<std::string_view, int>> sizes) : sizes_(sizes) {}
  int operator[](std::string_view name) const;  // a name that is not there is a std::logic_error
  std::string text() const;
  std::span<const std::pair<std::string_view, int>> all() const { return sizes_; }

 private:
  std::vector<std::pair<std::string_view, int>> sizes_;
};

// The random values of a case. They depend on the seed and on the order of the calls.
class CaseRandom {
 public:
  explicit CaseRandom(uint64_t seed) : engine_(seed) {}
  std::vector<float> floats(int64_t count, float low = -1, float high = 1);
  std::vector<uint16_t> halves(int64_t count);  // float16 in [-1, 1)
  int integer(int low, int high);               // both included
  template <class T>
  std::vector<T> integers(int64_t count, int low, int high) {
    std::vector<T> values(static_cast<size_t>(count));
    for (T& value : values) value = static_cast<T>(integer(low, high));
    return values;
  }

 private:
  std::mt19937_64 engine_;
};

double half_value(uint16_t bits);

enum class Element : uint8_t { float32, float16, int32, uint32, uint8 };
const char* name_of(Element element);
size_t bytes_of(Element element);

template <class T>
constexpr Element element_of() {
  if constexpr (std::is_same_v<T, float>) return Element::float32;
  if constexpr (std::is_same_v<T, uint16_t>) return Element::float16;
  if constexpr (std::is_same_v<T, int>) return Element::int32;
  if constexpr (std::is_same_v<T, unsigned>) return Element::uint32;
  if constexpr (std::is_same_v<T, uint8_t>) return Element::uint8;
}

// What an array must contain: |value - values[i]| <= absolute + relative |values[i]|.
struct Expected {
  std::vector<double> values;
  double absolute = 0, relative = 0;
};
// NaN agrees with NaN, and infinities agree with themselves only.
bool agrees(double got, double wanted, const Expected& with);

// An answer that a known mistake has.
struct KnownMistake {
  std::vector<double> values;
  std::string section;  // of docs/mistakes.md, or empty
  std::string hint;     // a sentence
};

enum class Role : uint8_t { scalar, input, output, in_out };
enum class Place : uint8_t { device, pinned, every_device };

struct Argument {
  std::string name;
  Role role = Role::input;
  Place place = Place::device;
  Element element = Element::float32;
  int64_t count = 0;               // elements, on each device
  std::vector<std::byte> content;  // of scalars, inputs and in_out; of the devices one after another
  Expected expected;               // of outputs and in_out
  std::vector<KnownMistake> mistakes;

  bool is_result() const { return role == Role::output || role == Role::in_out; }
};

class Case {
 public:
  int devices = 1;
  double flops = 0;  // of the best algorithm that is expected; 0: memory bounds the problem
  std::vector<Argument> arguments;

  // In the order of the solution's parameters. Arrays are memory of device 0.
  void scalar(const std::string& name, int value) { add_scalar(name, value); }
  void scalar(const std::string& name, float value) { add_scalar(name, value); }
  template <class T>
  Argument& input(const std::string& name, const std::vector<T>& values, Place place = Place::device) {
    return add<T>(name, Role::input, place, values, {}, static_cast<int64_t>(values.size()));
  }
  template <class T>
  Argument& output(const std::string& name, Expected expected, Place place = Place::device) {
    const auto count = static_cast<int64_t>(expected.values.size());
    return add<T>(name, Role::output, place, {}, std::move(expected), count);
  }
  template <class T>
  Argument& in_out(const std::string& name, const std::vector<T>& values, Expected expected) {
    return add<T>(name, Role::in_out, Place::device, values, std::move(expected),
                  static_cast<int64_t>(values.size()));
  }
  // An array on each of the devices: T* const*. The values of the devices follow each other.
  template <class T>
  Argument& input_on_devices(const std::string& name, const std::vector<T>& values) {
    return add<T>(name, Role::input, Place::every_device, values, {},
                  static_cast<int64_t>(values.size()) / devices);
  }
  template <class T>
  Argument& output_on_devices(const std::string& name, Expected expected) {
    const auto count = static_cast<int64_t>(expected.values.size()) / devices;
    return add<T>(name, Role::output, Place::every_device, {}, std::move(expected), count);
  }
  template <class T>
  Argument& in_out_on_devices(const std::string& name, const std::vector<T>& values, Expected expected) {
    return add<T>(name, Role::in_out, Place::every_device, values, std::move(expected),
                  static_cast<int64_t>(values.size()) / devices);
  }

  // The bytes of arrays in device memory that the call must read or write once.
  double least_bytes() const;
  // The bytes of the smallest pinned array; nothing if there is none.
  std::optional<uint64_t> least_pinned_bytes() const;

 private:
  template <class T>
  void add_scalar(const std::string& name, T value) {
    add<T>(name, Role::scalar, Place::device, {value}, {}, 1);
  }
  template <class T>
  Argument& add(const std::string& name, Role role, Place place, const std::vector<T>& values,
                Expected expected, int64_t count) {
    Argument& argument = arguments.emplace_back();
    argument.name = name;
    argument.role = role;
    argument.place = place;
    argument.element = element_of<T>();
    argument.count = count;
    const auto bytes = std::as_bytes(std::span(values));
    argument.content.assign(bytes.begin(), bytes.end());
    argument.expected = std::move(expected);
    return argument;
  }
};

}  // namespace rondo::program
