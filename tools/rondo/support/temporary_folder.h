// TemporaryFolder: a new folder in TMPDIR, else in /tmp, which is removed with all that it has.
#pragma once

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
  std::filesystem::path path_;
};

}  // namespace rondo::program
