// The counts of --count: the accesses of each kernel by source line.
#pragma once

#include <filesystem>
#include <ostream>

namespace rondo::program {

// `file` is what SIMT_COUNT wrote. Throws an Error if it can't be read.
void show_counts(const std::filesystem::path& file, std::ostream& out);

}  // namespace rondo::program
