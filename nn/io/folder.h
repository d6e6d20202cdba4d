// Describes what a path is, if it is not the file or folder that it must be.
#pragma once

#include <rondo/kernels/core/status.h>

#include <filesystem>
#include <string>

namespace rondo {

// Throws a bad_argument Error: the path in quotes, and what is wrong with it.
template <class... Parts>
[[noreturn]] void refuse_path(const std::string& path, const Parts&... parts) {
  throw Error(bad_argument("'", path, "' ", parts...));
}

// "a file", "a folder", "a pipe", "a socket", "a character device", "a block device" or "a special file".
const char* kind_of(std::filesystem::file_type type);

// Returns "does not exist", "is a file" (or another kind_of()) or "can't be opened (Too many levels of
// symbolic links)" for a path that is not a folder, and "" for a folder. A path below a regular file is one
// that does not exist.
std::string why_no_folder(const std::string& path);

// Whether the path names something, which may be a symbolic link that leads nowhere.
bool is_name(const std::string& path);

}  // namespace rondo
