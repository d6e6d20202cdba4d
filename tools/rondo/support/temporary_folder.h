// TemporaryFolder: a new folder in TMPDIR, else in /tmp, which is removed with all that it has. A signal that
// ends the program is deferred until it is removed; run_process() does not wait for the end of the other
// program then.
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
};

}  // namespace rondo::program
