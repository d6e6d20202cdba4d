#include <rondo/kernels/core/status.h>
#include <rondo/tools/rondo/support/temporary_folder.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace rondo::program {

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder(const std::string& name) {
  const char* const parent = std::getenv("TMPDIR");
  std::string path = fs::path(parent && *parent ? parent : "/tmp") / (name + "-XXXXXX");
  if (!mkdtemp(path.data()))
    throw Error(Status(StatusCode::out_of_resources,
                       concat("no temporary folder '", path, "' can be made: ", std::strerror(errno))));
  path_ = path;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace rondo::program
