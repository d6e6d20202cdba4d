#include <rondo/kernels/core/status.h>
#include <rondo/tools/rondo/profile/draw.h>
#include <rondo/tools/rondo/profile/lines.h>
#include <rondo/tools/rondo/profile/source_place.h>
#include <rondo/tools/rondo/support/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <tuple>

namespace rondo::program {
namespace {

// The access of a line, in the kernel where its worst request is.
struct LineAccess {
  const ProfiledPart* part;
  const ProfiledKernel* kernel;
  simt::AccessCounts access;
  uint64_t requests = 0;  // in all kernels
};
using LineAccesses = std::map<std::tuple<std::string, simt::AccessSpace, simt::AccessKind, int>, LineAccess>;

// Whether `place` is `line`, or `line` is its end or the end of its first part, from the name of a file on.
bool is_at(const std::string& place, const std::string& line) {
  const auto ends_with = [&](const std::string& text) { return text == line || text.ends_with("/" + line); };
  const size_t bracket = place.find(" (");
  if (bracket == std::string::npos) return ends_with(place);
  return place == line || ends_with(place.substr(0, bracket)) ||
         ends_with(place.substr(bracket + 2, place.size() - bracket - 3));
}

AccessDrawing drawing_of(const LineAccess& line) {
  const simt::AccessCounts& access = line.access;
  AccessDrawing drawing;
  drawing.access = access.worst;
  drawing.shared = access.space == simt::AccessSpace::shared;
  drawing.store = stores(access);
  drawing.title = concat(source_place(access), ": ", access_text(access), " of ", access.bytes,
                         access.bytes == 1 ? " byte" : " bytes", " per thread");
  drawing.subtitle = line.kernel->name;
  if (!line.part->name.empty()) drawing.subtitle += concat(" (", line.part->name, ")");
  drawing.subtitle += concat(", the worst of ", grouped(static_cast<int64_t>(line.requests)), " requests");
  if (const int active = std::popcount(access.worst.active); active < 32)
    drawing.subtitle += concat(", ", active, " of 32 threads active");
  if (drawing.shared) return drawing;
  // The address of an allocation differs between runs.
  uint64_t first = UINT64_MAX;
  for (size_t lane = 0; lane < 32; ++lane)
    if (access.worst.active >> lane & 1) first = std::min(first, access.worst.address[lane]);
  for (uint64_t& address : drawing.access.address) address -= first / simt::kSectorBytes * simt::kSectorBytes;
  drawing.subtitle += "; addresses from its first sector";
  return drawing;
}

std::string refusal(const ProfileReport& report, const std::string& line) {
  const std::string file = line.substr(0, line.rfind(':') + 1);
  std::set<std::string> all, of_file;
  for (const ProfiledPart& part : report.parts)
    for (const ProfiledKernel& kernel : part.kernels)
      for (const simt::AccessCounts& access : kernel.profile.accesses) {
        const std::string place = source_place(access);
        all.insert(place);
        if (place.find(file) != std::string::npos) of_file.insert(place);
      }
  std::string list;
  for (const std::string& place : of_file.empty() ? all : of_file) list += (list.empty() ? "" : ", ") + place;
  return concat("--draw is '", line, "', must be a line of the profile: ", list);
}

}  // namespace

std::vector<AccessDrawing> drawings_of_line(const ProfileReport& report, const std::string& line) {
  LineAccesses lines;
  for (const ProfiledPart& part : report.parts)
    for (const ProfiledKernel& kernel : part.kernels)
      for (simt::AccessCounts& access : accesses_by_line(kernel.profile)) {
        const std::string place = source_place(access);
        if (!is_at(place, line)) continue;
        const uint64_t requests = access.requests;
        LineAccess& worst = lines
                                .try_emplace({place, access.space, access.kind, access.bytes},
                                             LineAccess{&part, &kernel, access})
                                .first->second;
        worst.requests += requests;
        if (worst_excess(access) > worst_excess(worst.access))
          worst.part = &part, worst.kernel = &kernel, worst.access = access;
      }
  if (lines.empty()) throw Error(bad_argument(refusal(report, line)));
  std::vector<AccessDrawing> drawings;
  for (const auto& [key, access] : lines) drawings.push_back(drawing_of(access));
  return drawings;
}

}  // namespace rondo::program
