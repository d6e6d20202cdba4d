// Describes why a path is not a folder.
#pragma once

#include <string>

namespace rondo {

// Returns "does not exist", "is not a folder" or "can't be opened (Too many levels of symbolic links)" for a
// path that is not a folder, and "" for a folder. A path below a regular file is one that does not exist.
std::string why_no_folder(const std::string& path);

// Whether the path names something, which may be a symbolic link that leads nowhere.
bool is_name(const std::string& path);

}  // namespace rondo
