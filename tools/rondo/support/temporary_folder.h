// TemporaryFolder: a new folder in TMPDIR, else in /tmp, which is removed with all that it has. A signal that
// ends the program is deferred until it is removed; run_process() does not wait for the end of the other
// program then. The folder is locked, so that the next of its name removes those of programs that SIGKILL or
// a crash has ended.
#pragma once

#include <rondo/tools/rondo/support/deferred_signals.h>

#include <filesystem>
#include <string>

namespace rondo::program {

class TemporaryFolder {
 public:
  // `name` begins its name. Throws an Error if it can't be made.
  explicit TemporaryFolder(const std::string& name);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  DeferredSignals until_it_is_removed_;
  std::filesystem::path path_;
  int lock_ = -1;  // a descriptor of the folder
};

}  // namespace rondo::program
