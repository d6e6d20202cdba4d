#include <rondo/collectives/across_hosts/gather.h>
#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/core/indexed.h>

#include <cstring>

namespace rondo {

namespace {

// Has a fixed size whatever is gathered, so that headers of different gathers cannot be confused.
struct Header {
  char kind[40] = {};
  int64_t bytes = 0;
  char value[80] = {};
};
static_assert(sizeof(Header) == 128);

constexpr int kTag = 0;

// Exchanges messages of `bytes` bytes: `mine` is sent to all, all[process] is received from each.
Status exchange_with_all(ProcessGroup& group, const void* mine, int64_t bytes, void* all,
                         const std::string& what) {
  std::vector<ProcessGroup::Message> sends, receives;
  for (int process = 0; process < group.size(); ++process) {
    if (process == group.index()) continue;
    sends.push_back({process, const_cast<void*>(mine), bytes});
    receives.push_back({process, static_cast<char*>(all) + process * bytes, bytes});
  }
  return group.exchange(sends, receives, kTag, what);
}

std::string header_text(const Header& header) {
  return concat("'", header.kind, "' (", counted(header.bytes, "byte"), ")");
}

}  // namespace

Status gather_bytes(ProcessGroup& group, const void* mine, int64_t bytes, void* all, const std::string& what,
                    const std::string& kind) {
  Header header;
  std::strncpy(header.kind, kind.c_str(), sizeof header.kind - 1);
  header.bytes = bytes;
  const bool fits = bytes <= static_cast<int64_t>(sizeof header.value);
  if (fits) std::memcpy(header.value, mine, bytes);
  PerRank<Header> headers(group.size(), header);
  RONDO_RETURN_IF_ERROR(exchange_with_all(group, &header, sizeof header, headers.data(), what));
  for (int process = 1; process < group.size(); ++process) {
    const Header& theirs = headers[process];
    if (std::strcmp(theirs.kind, headers[0].kind) != 0 || theirs.bytes != headers[0].bytes)
      return bad_argument(group.name(process), " is at ", header_text(theirs), " and ", group.name(0), " at ",
                          header_text(headers[0]), ", must be at the same");
  }
  if (!fits) {
    std::memcpy(static_cast<char*>(all) + group.index() * bytes, mine, bytes);
    return exchange_with_all(group, mine, bytes, all, what);
  }
  for (int process = 0; process < group.size(); ++process)
    std::memcpy(static_cast<char*>(all) + process * bytes, headers[process].value, bytes);
  return {};
}

}  // namespace rondo
