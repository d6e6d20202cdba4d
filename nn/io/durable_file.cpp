#include <fcntl.h>
#include <rondo/kernels/core/status.h>
#include <rondo/nn/io/durable_file.h>
#include <rondo/nn/io/folder.h>
#include <rondo/nn/io/parse.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace rondo {
namespace {

namespace fs = std::filesystem;

// Throws for a call that has just failed and set errno.
[[noreturn]] void failed(const std::string& path, const std::string& what) {
  throw Error(
      Status(StatusCode::out_of_resources, concat(path, ": ", what, " (", std::strerror(errno), ")")));
}

class Descriptor {
 public:
  Descriptor(const fs::path& path, int flags, mode_t mode = 0)
      : value_(open(path.c_str(), flags | O_CLOEXEC, mode)) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  operator int() const { return value_; }
  int release() { return std::exchange(value_, -1); }
  int close() { return value_ < 0 ? 0 : ::close(std::exchange(value_, -1)); }

 private:
  int value_;
};

// Follows links. A link to a file that does not exist resolves to that file's path.
fs::path end_of_links(const std::string& path) {
  constexpr int kMostLinks = 40;  // as in Linux
  fs::path end = fs::absolute(path);
  for (int links = 0; fs::is_symlink(fs::symlink_status(end)); ++links) {
    if (links == kMostLinks) refuse_path(path, "is a symbolic link that leads in a circle");
    end = end.parent_path() / fs::read_symlink(end);
  }
  return fs::weakly_canonical(end.parent_path()) / end.filename();
}

void check_folder(const std::string& path, const fs::path& folder) {
  const std::string why = why_no_folder(folder.string());
  if (why.empty()) return;
  // If a part of the path is a file, the error names that file.
  std::error_code unseen;
  for (fs::path above = folder; above.has_relative_path(); above = above.parent_path())
    if (fs::is_regular_file(above, unseen))
      refuse_path(path, "is below '", above.string(), "', which is a file, must be a folder");
  refuse_path(path, "is in the folder '", folder.string(), "', which ", why);
}

fs::path checked_target(const std::string& path) try {
  const fs::path target = path.empty() ? fs::path() : end_of_links(path);
  if (!target.has_filename() || fs::is_directory(target)) refuse_path(path, "is a folder, must be a file");
  check_folder(path, target.parent_path());
  if (fs::exists(target)) {
    if (!fs::is_regular_file(target))
      refuse_path(path, "is ", kind_of(fs::status(target).type()), ", must be a regular file");
    if (access(target.c_str(), W_OK) != 0)
      refuse_path(path, "exists and can't be replaced (", std::strerror(errno), ")");
  }
  return target;
} catch (const fs::filesystem_error& error) {
  refuse_path(path, "can't be written (", error.code().message(), ")");
}

bool is_still(int descriptor, const fs::path& name) {
  struct stat mine, named;
  return fstat(descriptor, &mine) == 0 && lstat(name.c_str(), &named) == 0 && mine.st_dev == named.st_dev &&
         mine.st_ino == named.st_ino;
}

fs::path beside(const fs::path& target, const char* suffix) {
  return target.parent_path() / concat(".", target.filename().string(), suffix);
}

// " (process 17)", read from the lock file; "" if it has no process id.
std::string holder(const fs::path& lock_file) {
  const Descriptor file(lock_file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  char text[32];
  const ssize_t size = read(file, text, sizeof(text));
  const auto process = read_number<pid_t>({text, static_cast<size_t>(std::max<ssize_t>(size, 0))});
  return process ? concat(" (process ", *process, ")") : "";
}

// Opens a file in the folder of `path` and locks it. `taken` returns the error message if another process has
// locked it. The name is fixed, so that files of killed processes do not accumulate; the lock separates
// concurrent processes.
template <class Taken>
Descriptor open_alone(const std::string& path, const fs::path& name, Taken taken) {
  constexpr mode_t kOrdinary = 0666;  // before the user's umask
  for (;;) {
    Descriptor file(name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK, kOrdinary);
    if (file < 0) refuse_path(path, "can't be written (", std::strerror(errno), ")");
    // Other errors are ignored: some network file systems have no locks.
    if (flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) refuse_path(path, taken());
    // The previous owner may have renamed or removed the file between our open and our lock.
    if (is_still(file, name)) return file;
  }
}

class Temporary {
 public:
  Temporary(const std::string& path, const fs::path& target)
      : path_(path),
        target_(target),
        name_(beside(target, ".rondo-tmp")),
        file_(open_alone(path, name_, [] { return "is being written by another process"; })) {}
  ~Temporary() {
    if (!renamed_) unlink(name_.c_str());  // before the lock is released
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  void write(std::span<const std::span<const std::byte>> pieces) {
    struct stat old;
    if (stat(target_.c_str(), &old) == 0) check(fchmod(file_, old.st_mode & 07777));
    check(ftruncate(file_, 0));
    for (const std::span<const std::byte> piece : pieces) write(piece);
    check(fsync(file_));
  }

  void rename_to_target() {
    check(rename(name_.c_str(), target_.c_str()));
    renamed_ = true;
  }

 private:
  void check(int result) const {
    if (result == 0) return;
    const int why = errno;  // access() changes it
    const bool has_old = access(target_.c_str(), F_OK) == 0;
    errno = why;
    failed(path_, has_old ? "writing failed, the file is unchanged" : "writing failed, no file was written");
  }
  void write(std::span<const std::byte> rest) {
    while (!rest.empty()) {
      const ssize_t written = ::write(file_, rest.data(), rest.size());
      if (written >= 0)
        rest = rest.subspan(static_cast<size_t>(written));
      else if (errno != EINTR)
        check(-1);
    }
  }

  const std::string& path_;
  const fs::path& target_;
  fs::path name_;
  Descriptor file_;
  bool renamed_ = false;
};

// Makes a file's new name durable.
void synchronise_folder(const std::string& path, const fs::path& folder) {
  const Descriptor descriptor(folder, O_RDONLY | O_DIRECTORY);
  // EINVAL: the file system does not support synchronisation of folders.
  if (descriptor < 0 || (fsync(descriptor) != 0 && errno != EINVAL))
    failed(path, "the file was replaced, but a power failure may undo this");
}

}  // namespace

std::string target_of(const std::string& path) { return checked_target(path).string(); }

FileLock::FileLock(const std::string& path) {
  const fs::path target = checked_target(path);
  name_ = beside(target, ".rondo-lock").string();
  Descriptor file =
      open_alone(path, name_, [&] { return "is in use as the output of another run" + holder(name_); });
  try {
    const Temporary trial(path, target);
  } catch (...) {
    unlink(name_.c_str());
    throw;
  }
  const std::string process = exact_text(getpid());
  const bool noted = ftruncate(file, 0) == 0 && write(file, process.data(), process.size()) > 0;
  static_cast<void>(noted);  // the process id is only for error messages
  descriptor_ = file.release();
}

FileLock::~FileLock() {
  if (is_still(descriptor_, name_)) unlink(name_.c_str());  // before the lock is released
  close(descriptor_);
}

void replace_file(const std::string& path, std::span<const std::span<const std::byte>> pieces) {
  const fs::path target = checked_target(path);
  Temporary file(path, target);
  file.write(pieces);
  file.rename_to_target();
  synchronise_folder(path, target.parent_path());
}

}  // namespace rondo
