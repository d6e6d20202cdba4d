#include "fat_binary.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "../device/interpreter.h"
#include "decompress.h"
#include "text.h"

namespace ptx {
namespace {

// The layout is not documented. These are the fields that nvcc 13.0 writes, as its own tools show them.
struct Header {
  uint32_t magic;
  uint16_t version, header_bytes;
  uint64_t bytes;  // of the entries
};
struct EntryHeader {
  uint16_t kind, version;
  uint32_t header_bytes;
  uint64_t bytes;  // padded
  uint32_t compressed_bytes;
  uint32_t options_at;
  uint16_t minor, major;  // of the PTX version
  uint32_t architecture;
  uint32_t name_at, name_bytes;
  uint64_t flags;
  uint64_t reserved;
  uint64_t text_bytes;  // uncompressed; 0: it is not compressed
};
static_assert(sizeof(EntryHeader) == 64);
constexpr uint32_t kMagic = 0xBA55ED50;
constexpr uint16_t kPtx = 1;

template <class T>
T read(const unsigned char* at) {
  T value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

// 'a': of exactly this architecture; 'f': of its family; 0: of it and all later ones.
char suffix_of(const std::string& text) {
  const std::string target = ".target sm_";
  size_t at = text.find(target);
  if (at == std::string::npos) return 0;
  at += target.size();
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
  return at < text.size() && (text[at] == 'a' || text[at] == 'f') ? text[at] : '\0';
}

bool runs(int architecture, char suffix, int device) {
  if (suffix == 'a') return architecture == device;
  return architecture <= device && (suffix == 0 || architecture / 10 == device / 10);
}

std::string name_of(int architecture, char suffix = 0) {
  const std::string name = simt::joined(architecture / 10, ".", architecture % 10);
  return suffix ? name + suffix : name;
}

std::string list(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

FatBinary::FatBinary(const void* data) {
  const auto* at = static_cast<const unsigned char*>(data);
  const auto header = read<Header>(at);
  if (header.magic != kMagic) return;
  const unsigned char* const end = at + header.header_bytes + header.bytes;
  for (at += header.header_bytes; at < end;) {
    const auto entry = read<EntryHeader>(at);
    const int architecture = static_cast<int>(entry.architecture);
    const bool compressed = is_compressed(entry.flags);
    if (entry.kind == kPtx)
      ptx_.push_back({architecture, entry.flags, at + entry.header_bytes,
                      compressed ? entry.compressed_bytes : entry.bytes, compressed ? entry.text_bytes : 0});
    else
      machine_code_.insert(name_of(architecture));
    at += entry.header_bytes + entry.bytes;
  }
  std::stable_sort(ptx_.begin(), ptx_.end(),
                   [](const Entry& a, const Entry& b) { return a.architecture > b.architecture; });
}

std::string FatBinary::text_of(const Entry& entry) {
  std::string text = entry.text_bytes ? decompressed(entry.flags, entry.data, entry.bytes, entry.text_bytes)
                                      : std::string(reinterpret_cast<const char*>(entry.data), entry.bytes);
  text.resize(text.find_last_not_of('\0') + 1);
  return text;
}

FatBinary::Code FatBinary::code_for(int major, int minor) const {
  const int device = 10 * major + minor;
  Code best;
  char best_suffix = 0;
  for (const Entry& entry : ptx_) {
    if (entry.architecture > device) continue;
    if (entry.architecture < best.architecture) break;
    std::string text = text_of(entry);
    const char suffix = suffix_of(text);
    if (!runs(entry.architecture, suffix, device)) continue;
    if (!best.text.empty() && best_suffix == 'a') continue;
    best = {std::move(text), entry.architecture};
    best_suffix = suffix;
  }
  if (!best.text.empty()) return best;
  std::set<std::string> architectures;
  for (const Entry& entry : ptx_)
    architectures.insert(name_of(entry.architecture, suffix_of(text_of(entry))));
  constexpr int kNoKernelImage = 209;  // cudaErrorNoKernelImageForDevice
  const std::string wanted = "a device of compute capability " + name_of(device);
  if (ptx_.empty())
    throw Fault{kNoKernelImage, "the program has machine code" +
                                    (machine_code_.empty() ? "" : " (" + list(machine_code_) + ")") +
                                    " and no PTX for " + wanted + "; compile it with nvcc -arch=compute_" +
                                    simt::joined(device, device == 90 ? "a" : "")};
  throw Fault{kNoKernelImage, "the program's PTX (" + list(architectures) + ") does not run on " + wanted};
}

}  // namespace ptx
