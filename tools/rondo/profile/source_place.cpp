#include <rondo/kernels/core/status.h>
#include <rondo/tools/rondo/profile/source_place.h>

namespace rondo::program {
namespace {

// Relative to the source tree. The headers are found through the build's include folders, which are links:
// <build>/include/rondo_kernels/rondo/kernels/gemm/fma/tile.cuh.
std::string relative(std::string file) {
  const std::string root = RONDO_SOURCE_DIR "/";
  if (const size_t at = file.find("include/rondo_"); at != std::string::npos)
    file = file.substr(file.find("/rondo/", at) + 7);
  else if (file.compare(0, root.size(), root) == 0)
    file = file.substr(root.size());
  while (file.compare(0, 3, "../") == 0) file = file.substr(3);
  return file;
}

bool is_helper(const std::string& file) {
  return file.find("kernels/core/") != std::string::npos || file.find("tools/simt/") != std::string::npos;
}

}  // namespace

std::string source_place(const simt::AccessCounts& access) {
  if (access.inlined.empty()) return "?";
  const simt::SourceLine* line = &access.inlined.front();
  for (const simt::SourceLine& caller : access.inlined) {
    line = &caller;
    if (!is_helper(caller.file)) break;
  }
  const simt::SourceLine& kernel = access.inlined.back();
  std::string place = concat(relative(line->file), ":", line->line);
  if (line->file == kernel.file) return place;
  const std::string file = relative(kernel.file);
  return concat(place, " (", file.substr(file.rfind('/') + 1), ":", kernel.line, ")");
}

}  // namespace rondo::program
