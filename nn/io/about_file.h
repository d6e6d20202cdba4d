// The path of a file in the messages about it.
#pragma once

#include <rondo/kernels/core/status.h>

#include <string>
#include <string_view>

namespace rondo {

// Returns work(), and prefixes its bad_argument errors with the path, where they do not begin with it.
template <class Work>
auto about_file(const std::string& path, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    const std::string_view what = error.what();
    const bool named = what.starts_with(path + ": ") || what.starts_with("'" + path + "' ");
    if (named || error.status().code() != StatusCode::bad_argument) throw;
    throw Error(bad_argument(path, ": ", error.what()));
  }
}

}  // namespace rondo
