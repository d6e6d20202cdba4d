// cub::DeviceRadixSort: sorts keys, with or without values, by their bits [begin_bit, end_bit). Stable.
//
// Least significant digit first, eight bits per pass, alternating between the output and the temporary
// storage. The target of the first pass is chosen so that the last pass writes the output; the input is never
// written.
#pragma once

#include <cub/device/device_launch.cuh>

#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>

namespace cub {
namespace detail {

template <size_t Bytes>
using UnsignedOf = std::conditional_t<
    Bytes == 1, uint8_t,
    std::conditional_t<Bytes == 2, uint16_t, std::conditional_t<Bytes == 4, uint32_t, uint64_t>>>;

// The bits of a key, transformed so that their unsigned order is the key's order.
template <class Key>
UnsignedOf<sizeof(Key)> sortable_bits(Key key) {
  using Bits = UnsignedOf<sizeof(Key)>;
  constexpr Bits kTop = static_cast<Bits>(Bits{1} << (8 * sizeof(Key) - 1));
  if constexpr (std::floating_point<Key>) {
    if (key == 0) key = 0;  // -0.0 and 0.0 are equal
    const Bits bits = std::bit_cast<Bits>(key);
    return bits & kTop ? static_cast<Bits>(~bits) : static_cast<Bits>(bits | kTop);
  } else {
    const Bits bits = static_cast<Bits>(key);
    return std::is_signed_v<Key> ? static_cast<Bits>(bits ^ kTop) : bits;
  }
}

struct NoValue {};

// `descending` inverts every key's bits, which keeps the sort stable.
template <class Key, class Value>
void sort_all(const Key* keys_in, Key* keys_out, Key* keys_other, const Value* values_in, Value* values_out,
              Value* values_other, int64_t count, int begin_bit, int end_bit, bool descending) {
  constexpr int kDigitBits = 8;
  constexpr bool kHasValues = !std::is_same_v<Value, NoValue>;
  const int passes = end_bit > begin_bit ? (end_bit - begin_bit + kDigitBits - 1) / kDigitBits : 0;
  if (passes == 0) {
    for (int64_t i = 0; i < count; ++i) {
      keys_out[i] = keys_in[i];
      if constexpr (kHasValues) values_out[i] = values_in[i];
    }
    return;
  }
  for (int pass = 0; pass < passes; ++pass) {
    const int shift = begin_bit + pass * kDigitBits;
    const int bits = end_bit - shift < kDigitBits ? end_bit - shift : kDigitBits;
    const auto digit = [&](Key key) {
      const auto sortable = sortable_bits(key);
      const unsigned value =
          static_cast<unsigned>((descending ? ~static_cast<uint64_t>(sortable) : sortable) >> shift);
      return value & ((1u << bits) - 1);
    };
    const bool to_output = (passes - pass) % 2 == 1;
    Key* keys_to = to_output ? keys_out : keys_other;
    Value* values_to = to_output ? values_out : values_other;
    const Key* keys = pass == 0 ? keys_in : to_output ? keys_other : keys_out;
    const Value* values = pass == 0 ? values_in : to_output ? values_other : values_out;

    int64_t begin[1 << kDigitBits] = {};
    for (int64_t i = 0; i < count; ++i) ++begin[digit(keys[i])];
    int64_t sum = 0;
    for (int64_t& position : begin) {
      const int64_t size = position;
      position = sum;
      sum += size;
    }
    for (int64_t i = 0; i < count; ++i) {
      const int64_t to = begin[digit(keys[i])]++;
      keys_to[to] = keys[i];
      if constexpr (kHasValues) values_to[to] = values[i];
    }
  }
}

}  // namespace detail

struct DeviceRadixSort {
  template <class Key, class Value, class Count>
  static cudaError_t SortPairs(void* storage, size_t& storage_bytes, const Key* keys_in, Key* keys_out,
                               const Value* values_in, Value* values_out, Count count, int begin_bit = 0,
                               int end_bit = sizeof(Key) * 8, cudaStream_t stream = nullptr) {
    return sort(storage, storage_bytes, keys_in, keys_out, values_in, values_out, static_cast<int64_t>(count),
                begin_bit, end_bit, false, stream);
  }
  template <class Key, class Value, class Count>
  static cudaError_t SortPairsDescending(void* storage, size_t& storage_bytes, const Key* keys_in,
                                         Key* keys_out, const Value* values_in, Value* values_out,
                                         Count count, int begin_bit = 0, int end_bit = sizeof(Key) * 8,
                                         cudaStream_t stream = nullptr) {
    return sort(storage, storage_bytes, keys_in, keys_out, values_in, values_out, static_cast<int64_t>(count),
                begin_bit, end_bit, true, stream);
  }
  template <class Key, class Count>
  static cudaError_t SortKeys(void* storage, size_t& storage_bytes, const Key* keys_in, Key* keys_out,
                              Count count, int begin_bit = 0, int end_bit = sizeof(Key) * 8,
                              cudaStream_t stream = nullptr) {
    const detail::NoValue* none = nullptr;
    return sort(storage, storage_bytes, keys_in, keys_out, none, static_cast<detail::NoValue*>(nullptr),
                static_cast<int64_t>(count), begin_bit, end_bit, false, stream);
  }
  template <class Key, class Count>
  static cudaError_t SortKeysDescending(void* storage, size_t& storage_bytes, const Key* keys_in,
                                        Key* keys_out, Count count, int begin_bit = 0,
                                        int end_bit = sizeof(Key) * 8, cudaStream_t stream = nullptr) {
    const detail::NoValue* none = nullptr;
    return sort(storage, storage_bytes, keys_in, keys_out, none, static_cast<detail::NoValue*>(nullptr),
                static_cast<int64_t>(count), begin_bit, end_bit, true, stream);
  }

 private:
  template <class Key, class Value>
  static cudaError_t sort(void* storage, size_t& storage_bytes, const Key* keys_in, Key* keys_out,
                          const Value* values_in, Value* values_out, int64_t count, int begin_bit,
                          int end_bit, bool descending, cudaStream_t stream) {
    if (count < 0 || begin_bit < 0 || end_bit > static_cast<int>(8 * sizeof(Key)))
      return cudaErrorInvalidValue;
    constexpr size_t kAlign = 256;
    const size_t n = static_cast<size_t>(count);
    const size_t key_bytes = (n * sizeof(Key) + kAlign - 1) / kAlign * kAlign;
    const bool has_values = !std::is_same_v<Value, detail::NoValue>;
    const size_t value_bytes = has_values ? n * sizeof(Value) : 0;
    char* bytes = static_cast<char*>(storage);
    Value* values_other = bytes && has_values ? reinterpret_cast<Value*>(bytes + key_bytes) : nullptr;
    return detail::launch(storage, storage_bytes, key_bytes + value_bytes, stream,
                          detail::sort_all<Key, Value>, keys_in, keys_out, reinterpret_cast<Key*>(bytes),
                          values_in, values_out, values_other, count, begin_bit, end_bit, descending);
  }
};

}  // namespace cub
