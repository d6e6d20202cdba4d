#include <rondo/kernels/core/status.h>
#include <rondo/nn/io/durable_file.h>
#include <rondo/nn/io/printable.h>
#include <rondo/tools/rondo/support/deferred_signals.h>
#include <rondo/tools/rondo/support/output_file.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <filesystem>
#include <span>

namespace rondo::program {

struct HeldFile {
  const std::string option, target;
  const FileLock lock;
};

namespace {

// The output files of this process.
std::array<std::atomic<const HeldFile*>, 16> held_files;
static_assert(std::atomic<const HeldFile*>::is_always_lock_free);

// SA_RESETHAND has restored the default action: the raised signal ends the program when the handler returns.
void remove_locks(int signal) {
  for (const auto& slot : held_files)
    if (const HeldFile* file = slot) unlink(file->lock.lock_file().c_str());
  raise(signal);
}

void remove_locks_at_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    struct sigaction action = {};
    if (sigaction(signal, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) continue;
    action.sa_handler = remove_locks;
    action.sa_flags = SA_RESETHAND;
    sigaction(signal, &action, nullptr);
  }
}

void replace(const HeldFile* old, const HeldFile* by) {
  for (auto& slot : held_files)
    if (const HeldFile* expected = old; slot.compare_exchange_strong(expected, by)) return;
}

}  // namespace

OutputFile::OutputFile() = default;
OutputFile::OutputFile(OutputFile&&) noexcept = default;

OutputFile::OutputFile(const std::string& option, const std::string& path) : path_(path) {
  if (path.empty()) return;
  remove_locks_at_signals();
  const DeferredSignals until_the_lock_is_registered;
  try {
    const std::string target = target_of(path);
    for (const auto& slot : held_files)
      if (const HeldFile* other = slot; other && other->target == target)
        throw Error(bad_argument("'", path, "' is the same file as ", other->option, "'s, must be another"));
    held_.reset(new HeldFile{option, target, FileLock(path)});
    target_ = target;
  } catch (const Error& error) {
    throw Error(bad_argument(option, " ", error.what()));
  }
  replace(nullptr, held_.get());
}

OutputFile::~OutputFile() {
  if (!held_) return;
  const DeferredSignals until_the_lock_is_gone;
  replace(held_.get(), nullptr);
  held_.reset();
}

std::string OutputFile::shown() const { return printable(path_); }

void OutputFile::check_is_not(const std::string& what, const std::string& input) const {
  if (held_) program::check_is_not(held_->option, path_, what, input);
}

void OutputFile::write(std::string_view contents) const {
  const DeferredSignals until_the_temporary_is_gone;
  try {
    replace_file(path_, contents);
  } catch (const Error& error) {
    if (error.status().code() != StatusCode::bad_argument) throw;
    throw Error(Status(StatusCode::out_of_resources, error.what()));
  }
}

void check_is_not(const std::string& option, const std::string& path, const std::string& what,
                  const std::string& input) {
  std::error_code unseen;  // of a file that does not exist
  if (std::filesystem::equivalent(path, input, unseen))
    throw Error(bad_argument(option, " is '", path, "', which is ", what, ", must be another file"));
}

}  // namespace rondo::program
