// The counts of a program as JSON.
#include <simt/counted_operations.h>

#include <cstdio>

namespace simt {
namespace {

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    char code[8];
    if (static_cast<unsigned char>(c) < ' ') {
      std::snprintf(code, sizeof(code), "\\u%04x", static_cast<unsigned>(c));
      result += code;
    } else {
      if (c == '"' || c == '\\') result += '\\';
      result += c;
    }
  }
  return result + '"';
}

// The members of an object.
class Members {
 public:
  explicit Members(std::string& out) : out_(out) { out_ += '{'; }
  ~Members() { out_ += '}'; }
  Members(const Members&) = delete;
  Members& operator=(const Members&) = delete;
  std::string& key(const char* name) {
    if (out_.back() != '{') out_ += ", ";
    out_ += quoted(name) + ": ";
    return out_;
  }
  void add(const char* name, uint64_t value) { key(name) += std::to_string(value); }
  void add(const char* name, const std::string& value) { key(name) += quoted(value); }

 private:
  std::string& out_;
};

template <class Items, class Write>
void list(std::string& out, const Items& items, Write write) {
  out += '[';
  bool first = true;
  for (const auto& item : items) {
    if (!first) out += ", ";
    first = false;
    write(item);
  }
  out += ']';
}

void add_shape(Members& members, const char* name, const dim3& shape) {
  members.key(name) +=
      "[" + std::to_string(shape.x) + ", " + std::to_string(shape.y) + ", " + std::to_string(shape.z) + "]";
}

void write(const AccessCounts& counts, std::string& out) {
  Members members(out);
  members.add("kind", static_cast<uint64_t>(counts.kind));
  members.add("space", static_cast<uint64_t>(counts.space));
  members.add("bytes", static_cast<uint64_t>(counts.bytes));
  list(members.key("inlined"), counts.inlined, [&](const SourceLine& line) {
    Members place(out);
    place.add("file", line.file);
    place.add("line", static_cast<uint64_t>(line.line));
    place.add("function", line.function);
  });
  members.add("requests", counts.requests);
  members.add("lanes", counts.lanes);
  members.add("sectors", counts.sectors);
  members.add("least_sectors", counts.least_sectors);
  members.add("wavefronts", counts.wavefronts);
  members.add("least_wavefronts", counts.least_wavefronts);
  members.add("same_address", counts.same_address);
}

void write(const KernelProfile& profile, std::string& out) {
  Members members(out);
  members.add("name", profile.name);
  add_shape(members, "grid", profile.grid);
  add_shape(members, "block", profile.block);
  members.add("shared_bytes", static_cast<uint64_t>(profile.shared_bytes));
  members.add("launches", profile.launches);
  members.add("blocks", profile.blocks);
  members.add("multiply_adds", profile.multiply_adds);
  members.add("tf32_multiply_adds", profile.tf32_multiply_adds);
  members.add("narrow_multiply_adds", profile.narrow_multiply_adds);
  members.add("barriers", profile.barriers);
  members.add("warp_operations", profile.warp_operations);
  members.add("instructions", profile.instructions);
  members.add("waited", profile.waited);
  members.add("block_bytes", profile.block_bytes);
  members.add("launch_bytes_read", profile.launch_bytes_read);
  members.add("launch_bytes_written", profile.launch_bytes_written);
  list(members.key("accesses"), profile.accesses, [&](const AccessCounts& counts) { write(counts, out); });
}

void write(const CountedOperation& operation, std::string& out) {
  Members members(out);
  if (operation.kernel) {
    members.add("kernel", static_cast<uint64_t>(*operation.kernel));
    members.key("device") += std::to_string(operation.device);
    const auto add_link = [&](const char* read, const char* written, const LinkBytes& link) {
      if (link.read == 0 && link.written == 0) return;
      members.add(read, link.read);
      members.add(written, link.written);
    };
    add_link("host_bytes_read", "host_bytes_written", operation.host_link);
    add_link("peer_bytes_read", "peer_bytes_written", operation.peer_link);
  } else {
    members.key("from") += std::to_string(operation.from);
    members.key("to") += std::to_string(operation.to);
    members.add("bytes", operation.bytes);
  }
  list(members.key("after"), operation.after, [&](size_t other) { out += std::to_string(other); });
}

}  // namespace

std::string json(const ProgramProfile& profile) {
  std::string out;
  {
    Members members(out);
    list(members.key("kernels"), profile.kernels, [&](const KernelProfile& kernel) { write(kernel, out); });
    list(members.key("operations"), profile.operations,
         [&](const CountedOperation& operation) { write(operation, out); });
    members.add("uncounted_operations", profile.uncounted_operations);
  }
  return out + "\n";
}

}  // namespace simt
