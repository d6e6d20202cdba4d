#include <fcntl.h>
#include <rondo/kernels/core/status.h>
#include <rondo/tools/rondo/support/temporary_folder.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>

namespace rondo::program {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDrawn = "XXXXXX";

// A locked descriptor of a folder; -1: another process has locked it, or it can't be opened or locked. The
// lock ends with this process: programs that it starts do not inherit the descriptor.
int locked(const fs::path& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor < 0 || flock(descriptor, LOCK_EX | LOCK_NB) == 0) return descriptor;
  close(descriptor);
  return -1;
}

// A new folder is not locked for a moment.
bool is_new(const fs::path& folder) {
  std::error_code error;
  const auto written = fs::last_write_time(folder, error);
  return error || fs::file_time_type::clock::now() - written < std::chrono::minutes(1);
}

// Removes the folders of this name that no process has locked.
void remove_abandoned(const fs::path& parent, const std::string& name) {
  std::error_code error;
  for (fs::directory_iterator at(parent, error), end; !error && at != end; at.increment(error)) {
    const std::string found = at->path().filename().string();
    if (found.size() != name.size() + 1 + kDrawn.size() || !found.starts_with(name + "-")) continue;
    if (is_new(at->path())) continue;
    const int lock = locked(at->path());
    if (lock < 0) continue;
    std::error_code ignored;
    fs::remove_all(at->path(), ignored);
    close(lock);
  }
}

}  // namespace

TemporaryFolder::TemporaryFolder(const std::string& name) {
  const char* const set = std::getenv("TMPDIR");
  const fs::path parent = set && *set ? set : "/tmp";
  remove_abandoned(parent, name);
  std::string path = parent / concat(name, "-", kDrawn);
  if (!mkdtemp(path.data()))
    throw Error(Status(StatusCode::out_of_resources,
                       concat("no temporary folder '", path, "' can be made: ", std::strerror(errno))));
  path_ = path;
  lock_ = locked(path_);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  if (lock_ >= 0) close(lock_);
}

}  // namespace rondo::program
