#include <rondo/kernels/core/status.h>
#include <rondo/tools/rondo/support/byte_count.h>
#include <rondo/tools/rondo/support/format.h>

#include <charconv>

namespace rondo::program {
namespace {

struct Unit {
  const char* name;
  int64_t bytes;
};

constexpr Unit kUnits[] = {
    {"TB", 1'000'000'000'000}, {"GB", 1'000'000'000}, {"MB", 1'000'000}, {"kB", 1000},
    {"TiB", int64_t{1} << 40}, {"GiB", 1 << 30},      {"MiB", 1 << 20},  {"KiB", 1 << 10}};

// Returns 0 for an unknown unit.
int64_t bytes_of_unit(const std::string& name) {
  if (name.empty() || name == "B") return 1;
  for (const Unit& unit : kUnits)
    if (name == unit.name) return unit.bytes;
  return 0;
}

}  // namespace

std::optional<int64_t> read_byte_count(const std::string& text) {
  int64_t count = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, count);
  const int64_t unit = error == std::errc() ? bytes_of_unit(std::string(stop, end)) : 0;
  if (unit > 0 && count >= 0 && count <= kMostBytes / unit) return count * unit;
  return std::nullopt;
}

int64_t parse_byte_count(const std::string& option, const std::string& text, int64_t least) {
  const std::optional<int64_t> bytes = read_byte_count(text);
  if (bytes && *bytes >= least) return *bytes;
  throw Error(bad_argument(option, " is '", text, "', must be a whole number of bytes from ", least, " to ",
                           byte_count_text(kMostBytes), ", such as 1000, 25MB or 16MiB"));
}

std::string byte_count_text(int64_t bytes) {
  for (const Unit& unit : kUnits)
    if (bytes != 0 && bytes % unit.bytes == 0) return grouped(bytes / unit.bytes) + " " + unit.name;
  return grouped(bytes) + (bytes == 1 ? " byte" : " bytes");
}

}  // namespace rondo::program
