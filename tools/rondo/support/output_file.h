// OutputFile: a result that is asked for on the command line, checked before the work starts and written
// whole.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace rondo::program {

struct HeldFile;

class OutputFile {
 public:
  OutputFile();  // not asked for

  // `option` names the argument in messages. An empty path means "not asked for". Makes sure that `path` can
  // be written, and keeps it from other runs until the end (nn/io/durable_file.h, FileLock); a signal that ends
  // the program takes the lock's file with it. Throws a bad_argument Error when the path can't be written,
  // another run has it, or another output of this one is the same file.
  OutputFile(const std::string& option, const std::string& path);
  OutputFile(OutputFile&&) noexcept;
  ~OutputFile();

  bool wanted() const { return !target_.empty(); }
  const std::string& path() const { return path_; }
  std::string shown() const;  // the path as the program prints it: nn/io/printable.h

  // The file that `path` means, after links have been followed: equal for two names of the same file.
  const std::string& target() const { return target_; }

  // Replaces the file's contents (nn/io/durable_file.h), so that a reader sees the old contents or the new, never a part; a signal
  // that would end the program waits until that is done. Throws Error, which is no bad_argument: what was
  // asked for made sense. Then the file is what it was.
  void write(std::string_view contents) const;

 private:
  std::string path_;
  std::string target_;
  std::unique_ptr<HeldFile> held_;
};

}  // namespace rondo::program
