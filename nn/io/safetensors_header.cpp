#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/core/status.h>
#include <rondo/nn/io/c_locale.h>
#include <rondo/nn/io/printable.h>
#include <rondo/nn/io/safetensors_header.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

namespace rondo {
namespace {

using nlohmann::json;

constexpr const char* kMetadata = "__metadata__";
constexpr size_t kMostDimensions = 64;
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

struct TypeInfo {
  StoredType type;
  const char* name;
  int64_t size;
};
constexpr TypeInfo kTypes[] = {{StoredType::boolean, "BOOL", 1},    {StoredType::u8, "U8", 1},
                               {StoredType::i8, "I8", 1},           {StoredType::f8_e5m2, "F8_E5M2", 1},
                               {StoredType::f8_e4m3, "F8_E4M3", 1}, {StoredType::f8_e8m0, "F8_E8M0", 1},
                               {StoredType::u16, "U16", 2},         {StoredType::i16, "I16", 2},
                               {StoredType::f16, "F16", 2},         {StoredType::bf16, "BF16", 2},
                               {StoredType::u32, "U32", 4},         {StoredType::i32, "I32", 4},
                               {StoredType::f32, "F32", 4},         {StoredType::c64, "C64", 8},
                               {StoredType::u64, "U64", 8},         {StoredType::i64, "I64", 8},
                               {StoredType::f64, "F64", 8}};

const TypeInfo& info(StoredType type) { return *std::ranges::find(kTypes, type, &TypeInfo::type); }

template <class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  throw Error(bad_argument(parts...));
}

// "BOOL, U8, ... or F64"
std::string type_names() {
  std::string names;
  for (const TypeInfo& type : kTypes)
    names += concat(&type == kTypes ? "" : &type + 1 == std::end(kTypes) ? " or " : ", ", type.name);
  return names;
}

[[noreturn]] void fail_as_json(size_t byte) {
  fail("the header is not JSON: it goes wrong at its byte ", byte);
}

// A SAX reader: it keeps only what belongs in a header, and rejects nesting deeper than the format's at once.
class HeaderReader {
 public:
  using number_integer_t = json::number_integer_t;
  using number_unsigned_t = json::number_unsigned_t;
  using number_float_t = json::number_float_t;
  using string_t = json::string_t;
  using binary_t = json::binary_t;

  SafetensorsHeader take() { return std::move(header_); }

  bool null() { unexpected("null"); }
  bool boolean(bool) { unexpected("a boolean"); }
  bool number_integer(number_integer_t value) { fail(where(), " holds ", value, ", must not be negative"); }
  bool number_float(number_float_t, const string_t& text) {
    fail(where(), " holds ", shown_name(text), ", must hold integers below 2^63");
  }
  bool binary(binary_t&) { unexpected("binary data"); }

  bool number_unsigned(number_unsigned_t value) {
    if (place_ != Place::array) unexpected("a number");
    if (value > static_cast<uint64_t>(kMost)) fail(where(), " holds ", value, ", must be below 2^63");
    std::vector<int64_t>& numbers = field_ == kShape ? header_.entries.back().shape : offsets_;
    const size_t most = field_ == kShape ? kMostDimensions : 2;
    if (numbers.size() == most) fail(where(), " has more than ", counted(most, "number"));
    numbers.push_back(static_cast<int64_t>(value));
    return true;
  }

  bool string(string_t& value) {
    if (place_ == Place::metadata) {
      header_.metadata[key_] = std::move(value);
      return true;
    }
    if (place_ != Place::tensor || field_ != kDType) unexpected("text");
    const auto* type = std::ranges::find_if(kTypes, [&](const TypeInfo& t) { return t.name == value; });
    if (type == std::end(kTypes)) fail(where(), " is '", shown_name(value), "', must be ", type_names());
    header_.entries.back().type = type->type;
    return true;
  }

  bool key(string_t& value) {
    if (place_ == Place::tensor) {
      const auto* field = std::ranges::find(kFields, value);
      if (field == kFields.end())
        fail("tensor ", shown_tensor(), " has an unknown field '", shown_name(value), "'");
      field_ = static_cast<Field>(field - kFields.begin());
      if (std::exchange(seen_[field_], true)) fail(where(), " is there twice");
      return true;
    }
    std::set<std::string>& names = place_ == Place::metadata ? metadata_names_ : tensor_names_;
    if (!names.insert(value).second) fail("'", shown_name(value), "' is there twice");
    key_ = std::move(value);
    return true;
  }

  bool start_object(size_t) {
    switch (place_) {
      case Place::outside:
        place_ = Place::top;
        return true;
      case Place::top:
        if (key_ == kMetadata) {
          place_ = Place::metadata;
          return true;
        }
        place_ = Place::tensor;
        header_.entries.push_back({key_, StoredType::u8, {}, 0, 0});
        offsets_.clear();
        seen_ = {};
        return true;
      default:
        unexpected("an object");
    }
  }

  bool end_object() {
    if (place_ == Place::tensor) {
      for (size_t field = 0; field < kFields.size(); ++field)
        if (!seen_[field]) fail("tensor ", shown_tensor(), " has no ", kFields[field]);
      if (offsets_.size() != 2)
        fail("data_offsets of tensor ", shown_tensor(), " has ", counted(offsets_.size(), "number"),
             ", must have 2");
      header_.entries.back().begin = offsets_[0];
      header_.entries.back().end = offsets_[1];
    }
    place_ = place_ == Place::top ? Place::outside : Place::top;
    return true;
  }

  bool start_array(size_t) {
    if (place_ != Place::tensor || field_ == kDType) unexpected("a list");
    place_ = Place::array;
    return true;
  }
  bool end_array() {
    place_ = Place::tensor;
    return true;
  }

  bool parse_error(size_t position, const std::string&, const json::exception&) { fail_as_json(position); }

 private:
  enum class Place { outside, top, metadata, tensor, array };
  enum Field { kDType, kShape, kOffsets };
  static constexpr std::array<std::string_view, 3> kFields = {"dtype", "shape", "data_offsets"};

  std::string shown_tensor() const { return concat("'", shown_name(header_.entries.back().name), "'"); }
  // The position in the header, for error messages.
  std::string where() const {
    if (place_ == Place::tensor || place_ == Place::array)
      return concat(kFields[field_], " of tensor ", shown_tensor());
    return place_ == Place::outside ? "the header" : concat("'", shown_name(key_), "'");
  }
  [[noreturn]] void unexpected(const char* what) const {
    fail(where(), " holds ", what, ", which has no place there");
  }

  SafetensorsHeader header_;
  Place place_ = Place::outside;
  Field field_ = kDType;
  std::string key_;  // name of the current tensor or metadata entry
  std::set<std::string> tensor_names_, metadata_names_;
  std::array<bool, 3> seen_ = {};
  std::vector<int64_t> offsets_;
};

// Sorts the entries by offset and checks that they cover the data without gaps or overlaps.
void check_places(std::vector<SafetensorsHeader::Entry>& entries, int64_t data_bytes) {
  std::ranges::stable_sort(entries, {}, [](const auto& entry) { return std::pair(entry.begin, entry.end); });
  int64_t end = 0;
  for (const auto& entry : entries) {
    const auto fail_here = [&](const auto&... parts) {
      fail("tensor '", shown_name(entry.name), "' ", parts...);
    };
    const int64_t bytes = bytes_of(entry.type, entry.shape);
    if (bytes < 0) fail_here("is ", text_of(entry.type, entry.shape), ", which is more than 2^63 bytes");
    if (entry.end < entry.begin)
      fail_here("ends at byte ", entry.end, ", before it begins, at ", entry.begin);
    if (entry.end > data_bytes)
      fail_here("ends at byte ", entry.end, " of the data, of which there are ", data_bytes);
    if (entry.begin != end)
      fail_here("begins at byte ", entry.begin, ", must begin at ", end, ", where the one before it ends");
    if (entry.end - entry.begin != bytes)
      fail_here("is ", text_of(entry.type, entry.shape), ", which is ", counted(bytes, "byte"), ", but has ",
                entry.end - entry.begin);
    end = entry.end;
  }
  if (end != data_bytes)
    fail("the last tensor ends at byte ", end, " of the data, but there are ", data_bytes);
}

// The text as a JSON string, in quotes.
std::string quoted(const std::string& text) {
  try {
    return json(text).dump();
  } catch (const json::exception&) {
    fail("'", shown_name(text), "' is not UTF-8");
  }
}

}  // namespace

const char* name_of(StoredType type) { return info(type).name; }
int64_t size_of(StoredType type) { return info(type).size; }

std::string text_of(StoredType type, const std::vector<int64_t>& shape) {
  std::string text = concat(name_of(type), " [");
  for (size_t i = 0; i < shape.size(); ++i) text += concat(i > 0 ? ", " : "", shape[i]);
  return text + "]";
}

int64_t bytes_of(StoredType type, const std::vector<int64_t>& shape) {
  int64_t bytes = size_of(type);
  for (const int64_t size : shape)
    if (size < 0 || __builtin_mul_overflow(bytes, size, &bytes)) return -1;
  return bytes;
}

std::string shown_name(std::string_view name) {
  constexpr size_t kMost = 80;
  return excerpt(name, kMost);
}

SafetensorsHeader parse_safetensors_header(std::string_view text, int64_t data_bytes) {
  if (!text.starts_with('{')) fail("the header does not begin with '{': not a safetensors file");
  // The parser treats a zero byte as the end of the text.
  if (const size_t zero = text.find('\0'); zero != text.npos) fail_as_json(zero + 1);
  HeaderReader reader;
  {
    const CLocale of_the_parser;
    json::sax_parse(text, &reader);
  }
  // The parser accepts any white space after the object; the format only allows spaces.
  if (const size_t end = text.find_last_not_of(' '); text[end] != '}')
    fail("the header ends with byte ", int{static_cast<unsigned char>(text[end])},
         ", must be padded with spaces");
  SafetensorsHeader header = reader.take();
  check_places(header.entries, data_bytes);
  return header;
}

std::string text_of(const SafetensorsHeader& header) {
  std::string text = "{";
  const auto next = [&] { return text.size() > 1 ? "," : ""; };
  if (!header.metadata.empty()) {
    text += concat("\"", kMetadata, "\":{");
    const char* comma = "";
    for (const auto& [key, value] : header.metadata) {
      text += concat(comma, quoted(key), ":", quoted(value));
      comma = ",";
    }
    text += "}";
  }
  for (const auto& entry : header.entries)
    text += concat(next(), quoted(entry.name), ":{\"dtype\":\"", name_of(entry.type),
                   "\",\"shape\":", json(entry.shape).dump(), ",\"data_offsets\":[", entry.begin, ",",
                   entry.end, "]}");
  text += "}";
  constexpr size_t kAlign = 8;
  text.resize((text.size() + kAlign - 1) / kAlign * kAlign, ' ');
  return text;
}

}  // namespace rondo
