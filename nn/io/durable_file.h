// Atomic replacement of a file: readers find the old or the new contents, even after a power failure.
#pragma once

#include <rondo/kernels/core/status.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace rondo {

// Replaces the contents of `path` with the pieces, one after the other. Follows links, also to a file that
// does not exist yet. The data is written to a temporary file in the same folder (".NAME.rondo-tmp"),
// synchronised to disk and renamed; then the folder is synchronised. A process that is killed meanwhile may
// leave the temporary, which the next call for this path overwrites. Throws Error: bad_argument if the path
// cannot be a file or another writer is active; out_of_resources if writing fails, for example because the
// disk is full. After an error the temporary is removed and the file is unchanged, unless only the
// synchronisation of the folder failed; the message then says that the file was replaced.
void replace_file(const std::string& path, std::span<const std::span<const std::byte>> pieces);
inline void replace_file(const std::string& path, std::string_view contents) {
  const std::span<const std::byte> piece = std::as_bytes(std::span(contents));
  replace_file(path, {&piece, 1});
}

// The file that `path` refers to after links have been followed. Two names of the same file give the same
// result. Throws as replace_file() does.
std::string target_of(const std::string& path);

// Reserves a file for one process that will write it repeatedly. While a FileLock exists, another one for the
// same file fails. replace_file() does not check the lock. The lock is on a second file in the same folder
// (".NAME.rondo-lock"), which contains the process id and is removed at the end. The lock ends with the
// process, also if it is killed; the lock file then remains, and the next FileLock takes it over. On file
// systems without locks, no FileLock fails.
class FileLock {
 public:
  // Also checks that replace_file() can start, by creating and removing its temporary. Throws as
  // replace_file() does, and a bad_argument Error if the file is already locked.
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
