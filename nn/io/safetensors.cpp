#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/core/status.h>
#include <rondo/nn/io/durable_file.h>
#include <rondo/nn/io/regular_file.h>
#include <rondo/nn/io/safetensors.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <new>
#include <set>

namespace rondo {
namespace {

static_assert(std::endian::native == std::endian::little, "the format's numbers are copied as they are");

constexpr int64_t kLengthBytes = 8;
constexpr int64_t kMostHeaderBytes = 100'000'000;  // the limit of the reference implementation

// Reads the length of the header's text, which follows it.
int64_t read_header_length(const RegularFile& file, int64_t size) {
  if (size < kLengthBytes)
    file.fail("has ", counted(size, "byte"), ", too few for a safetensors file, which begins with ",
              kLengthBytes, " bytes of length");
  uint64_t length = 0;
  file.read(&length, kLengthBytes, 0);
  if (length > static_cast<uint64_t>(kMostHeaderBytes))
    file.fail("its header has ", counted(length, "byte"), ", must have at most ", kMostHeaderBytes,
              ": not a safetensors file, or damaged");
  if (static_cast<int64_t>(length) > size - kLengthBytes)
    file.fail("its header has ", counted(length, "byte"), ", but only ", size - kLengthBytes,
              " follow: not a safetensors file, or cut off");
  return static_cast<int64_t>(length);
}

Safetensors read(const RegularFile& file, bool with_values) {
  const int64_t size = file.size(), length = read_header_length(file, size);
  const int64_t data_begin = kLengthBytes + length, data_bytes = size - data_begin;
  std::string text(static_cast<size_t>(length), ' ');
  file.read(text.data(), length, kLengthBytes);
  SafetensorsHeader header;
  try {
    header = parse_safetensors_header(text, data_bytes);
  } catch (const Error& error) {
    file.fail(error.what());
  }
  Safetensors contents{std::move(header.metadata), {}, nullptr};
  if (with_values) {
    contents.data = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(data_bytes));
    file.read(contents.data.get(), data_bytes, data_begin);
  }
  for (SafetensorsHeader::Entry& entry : header.entries) {
    StoredTensor& tensor = contents.tensors.emplace_back(
        StoredTensor{std::move(entry.name), entry.type, std::move(entry.shape), {}});
    if (with_values)
      tensor.bytes = {contents.data.get() + entry.begin, static_cast<size_t>(entry.end - entry.begin)};
  }
  return contents;
}

SafetensorsHeader header_for(std::span<const StoredTensor* const> tensors) {
  SafetensorsHeader header;
  std::set<std::string_view> names;
  int64_t end = 0;
  for (const StoredTensor* tensor : tensors) {
    const auto fail = [&](const auto&... parts) {
      throw Error(bad_argument("tensor '", shown_name(tensor->name), "' ", parts...));
    };
    if (tensor->name == "__metadata__") fail("has a name that the format reserves");
    if (!names.insert(tensor->name).second) fail("is there twice");
    const int64_t bytes = bytes_of(tensor->type, tensor->shape);
    if (bytes != static_cast<int64_t>(tensor->bytes.size()))
      fail("is ", text_of(tensor->type, tensor->shape), ", which does not belong to ",
           counted(tensor->bytes.size(), "byte"));
    header.entries.push_back({tensor->name, tensor->type, tensor->shape, end, end + bytes});
    end += bytes;
  }
  return header;
}

}  // namespace

const StoredTensor* Safetensors::find(const std::string& name) const {
  const auto found = std::ranges::find(tensors, name, &StoredTensor::name);
  return found == tensors.end() ? nullptr : &*found;
}

Safetensors read_safetensors_head(const std::string& path) {
  return read(RegularFile(path), /*with_values=*/false);
}

Safetensors read_safetensors(const std::string& path) {
  try {
    return read(RegularFile(path), /*with_values=*/true);
  } catch (const std::bad_alloc&) {
    throw Error(
        Status(StatusCode::out_of_resources, concat(path, ": there is not enough memory to read it")));
  }
}

uint32_t checksum(std::span<const StoredTensor> tensors, const std::map<std::string, std::string>& metadata) {
  std::vector<const StoredTensor*> ordered;
  for (const StoredTensor& tensor : tensors) ordered.push_back(&tensor);
  std::ranges::stable_sort(ordered, {}, [](const StoredTensor* t) -> const std::string& { return t->name; });
  SafetensorsHeader header = header_for(ordered);
  header.metadata = metadata;
  const std::string text = text_of(header);
  uLong sum = crc32_z(0, reinterpret_cast<const Bytef*>(text.data()), text.size());
  for (const StoredTensor* tensor : ordered)
    if (!tensor->bytes.empty())  // crc32_z() restarts for a null pointer
      sum = crc32_z(sum, reinterpret_cast<const Bytef*>(tensor->bytes.data()), tensor->bytes.size());
  return static_cast<uint32_t>(sum);
}

void write_safetensors(const std::string& path, std::span<const StoredTensor> tensors,
                       const std::map<std::string, std::string>& metadata) {
  std::vector<const StoredTensor*> ordered;
  for (const StoredTensor& tensor : tensors) ordered.push_back(&tensor);
  std::ranges::stable_sort(ordered, std::greater(), [](const StoredTensor* t) { return size_of(t->type); });
  std::string text;
  try {
    SafetensorsHeader header = header_for(ordered);
    header.metadata = metadata;
    text = text_of(header);
    if (static_cast<int64_t>(text.size()) > kMostHeaderBytes)
      throw Error(bad_argument("the header has ", counted(text.size(), "byte"), ", must have at most ",
                               kMostHeaderBytes));
  } catch (const Error& error) {
    throw Error(bad_argument(path, ": ", error.what()));
  }
  const uint64_t length = text.size();
  std::vector<std::span<const std::byte>> pieces = {std::as_bytes(std::span(&length, 1)),
                                                    std::as_bytes(std::span(text))};
  for (const StoredTensor* tensor : ordered) pieces.push_back(tensor->bytes);
  replace_file(path, pieces);
}

}  // namespace rondo
