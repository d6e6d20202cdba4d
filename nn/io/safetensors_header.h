// The header of a safetensors file: JSON that names the tensors and says where in the data they lie.
// https://github.com/huggingface/safetensors, "Format"
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rondo {

// Of the format's types those that Rondo's files may hold; the 16-bit ones as they are, without arithmetic.
enum class StoredType { f32, f64, i64, i32, u8, f16, bf16 };
const char* name_of(StoredType type);  // as the format spells it: "F32"
int64_t size_of(StoredType type);      // in bytes

// "F32 [20, 5, 5]"
std::string text_of(StoredType type, const std::vector<int64_t>& shape);

// The bytes of a tensor, or -1 where a dimension is negative or the product exceeds 63 bits.
int64_t bytes_of(StoredType type, const std::vector<int64_t>& shape);

struct SafetensorsHeader {
  struct Entry {
    std::string name;
    StoredType type;
    std::vector<int64_t> shape;  // row-major, outermost dimension first
    int64_t begin, end;          // in bytes, from the beginning of the data
  };
  std::map<std::string, std::string> metadata;
  std::vector<Entry> entries;
};

// A name from a file as a message shows it: not longer than a line, control characters escaped.
std::string shown_name(std::string_view name);

// Reads a header that `data_bytes` of data follow. Every byte of the data must belong to exactly one tensor; the entries come
// back in the order of their data. Stricter than the format in one point: a tensor has no further fields, and at most 64
// dimensions. Throws a bad_argument Error.
SafetensorsHeader parse_safetensors_header(std::string_view text, int64_t data_bytes);

// The header as text, its length a multiple of 8. Throws a bad_argument Error for a text that is not UTF-8.
std::string text_of(const SafetensorsHeader& header);

}  // namespace rondo
