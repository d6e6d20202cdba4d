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

// Makes sure that replace_file() could begin: makes and removes the temporary. Returns the file that `path` means, after links
// have been followed: equal for two names of the same file. Throws as it does.
std::string replaceable_file(const std::string& path);

}  // namespace rondo
