#include <rondo/kernels/core/status.h>
#include <rondo/nn/io/folder.h>

#include <filesystem>

namespace rondo {

namespace fs = std::filesystem;

std::string why_no_folder(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) return "";
  if (status.type() == fs::file_type::not_found) return "does not exist";
  if (error) return concat("can't be opened (", error.message(), ")");
  return "is not a folder";
}

bool is_name(const std::string& path) {
  std::error_code unseen;
  return fs::exists(fs::symlink_status(path, unseen));
}

}  // namespace rondo
