// A file that is replaced whole: whoever looks finds the old contents or the new, also after a crash or a power failure.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace rondo {

// Makes the pieces, one after the other, the contents of `path`; links are followed, also to a file that is not there yet. They go to a temporary beside it
// (".NAME.rondo-tmp"), which is synchronised with the disk and renamed; then the folder is synchronised too. A process that
// is killed meanwhile may leave the temporary, which the next call for this path overwrites. Throws Error: bad_argument where
// the path can't be a file, or somebody else is just writing it; out_of_resources where writing fails, for example because
// the disk is full. Then the file is what it was, and the temporary is gone.
void replace_file(const std::string& path, std::span<const std::span<const std::byte>> pieces);

// The file that `path` means, after links have been followed: equal for two names of the same file. Throws as
// replace_file() does.
std::string target_of(const std::string& path);

// Keeps a file for one process that will write it again and again: while one has it, another FileLock for it
// is refused. It does not disturb replace_file(). What is locked is a file beside it (".NAME.rondo-lock")
// that holds the id of the process; it is removed at the end. The lock goes with the process, also when that
// is killed; then the file stays, and the next one takes it over. File systems without locks refuse nobody.
class FileLock {
 public:
  // Makes sure too that replace_file() could begin: makes and removes its temporary. Throws as it does, and a
  // bad_argument Error where another has the lock.
  explicit FileLock(const std::string& path);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  const std::string& lock_file() const { return name_; }

 private:
  std::string name_;
  int descriptor_;
};

}  // namespace rondo
