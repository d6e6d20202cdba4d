#include <fcntl.h>
#include <rondo/kernels/core/status.h>
#include <rondo/tools/rondo/deferred_signals.h>
#include <rondo/tools/rondo/output_file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace rondo::program {
namespace {

namespace fs = std::filesystem;

// A new, empty file beside the target; removed again unless it is renamed to the target, also when the user
// interrupts the program meanwhile.
class Temporary {
 public:
  explicit Temporary(const fs::path& target) : target_(target) {
    static std::atomic<int> next{0};
    path_ = target.parent_path() / concat(".rondo-", getpid(), "-", next++, ".tmp");
    constexpr mode_t kOrdinary = 0666;  // less what the user's umask takes away
    descriptor_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kOrdinary);
    error_ = descriptor_ < 0 ? errno : 0;
    struct stat old;
    if (descriptor_ >= 0 && stat(target.c_str(), &old) == 0) check(fchmod(descriptor_, old.st_mode & 07777));
  }
  ~Temporary() {
    if (descriptor_ < 0) return;
    close(descriptor_);
    if (!renamed_) unlink(path_.c_str());
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  int error() const { return error_; }  // errno of the first call that failed, or 0

  void write(std::string_view contents) {
    while (error_ == 0 && !contents.empty()) {
      const ssize_t written = ::write(descriptor_, contents.data(), contents.size());
      if (written >= 0) {
        contents.remove_prefix(static_cast<size_t>(written));
      } else if (errno != EINTR) {
        error_ = errno;
      }
    }
    if (error_ == 0) check(fsync(descriptor_));
  }

  void rename_to_target() {
    if (error_ == 0) check(rename(path_.c_str(), target_.c_str()));
    renamed_ = error_ == 0;
  }

 private:
  void check(int result) {
    if (result != 0 && error_ == 0) error_ = errno;
  }

  DeferredSignals until_the_file_is_gone_;
  fs::path target_;
  fs::path path_;
  int descriptor_ = -1;
  int error_ = 0;
  bool renamed_ = false;
};

}  // namespace

OutputFile::OutputFile(const std::string& option, const std::string& path) : path_(path) {
  if (path.empty()) return;
  const auto fail = [&](const auto&... why) { throw Error(bad_argument(option, " '", path, "': ", why...)); };

  std::error_code error;
  const fs::path target = fs::weakly_canonical(fs::absolute(path), error);
  if (error) fail(error.message());
  const fs::path folder = target.parent_path();
  if (fs::is_directory(target, error) || !target.has_filename()) fail("is a directory, must be a file");
  if (!fs::is_directory(folder, error)) fail("there is no directory ", folder.string(), " to write it to");
  if (fs::exists(target, error)) {
    if (!fs::is_regular_file(target, error)) fail("exists and is not an ordinary file");
    if (access(target.c_str(), W_OK) != 0) fail("exists and can't be replaced (", std::strerror(errno), ")");
  }
  const Temporary trial(target);
  if (trial.error() != 0) fail("can't be written (", std::strerror(trial.error()), ")");
  target_ = target.string();
}

void OutputFile::write(std::string_view contents) const {
  Temporary file(target_);
  file.write(contents);
  file.rename_to_target();
  if (file.error() != 0) {
    throw Error(Status(StatusCode::out_of_resources,
                       concat("writing '", path_, "' failed (", std::strerror(file.error()), ")")));
  }
}

}  // namespace rondo::program
