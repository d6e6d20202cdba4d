// OutputFile: a result that is asked for on the command line, checked before the work starts and written
// whole.
#pragma once

#include <string>
#include <string_view>

namespace rondo::program {

class OutputFile {
 public:
  OutputFile() = default;  // not asked for

  // `option` names the argument in messages. An empty path means "not asked for". Makes sure that `path` can
  // be written, without leaving anything there; throws a bad_argument Error when not.
  OutputFile(const std::string& option, const std::string& path);

  bool wanted() const { return !target_.empty(); }
  const std::string& path() const { return path_; }
  std::string shown() const;  // the path as the program prints it: nn/printable.h

  // The file that `path` means, after links have been followed: equal for two names of the same file.
  const std::string& target() const { return target_; }

  // Replaces the file's contents (nn/durable_file.h), so that a reader sees the old contents or the new, never a part; a signal
  // that would end the program waits until that is done. Throws Error; then the file is what it was.
  void write(std::string_view contents) const;

 private:
  std::string path_;
  std::string target_;
};

}  // namespace rondo::program
