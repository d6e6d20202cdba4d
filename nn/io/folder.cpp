#include <rondo/nn/io/folder.h>

#include <filesystem>

namespace rondo {

namespace fs = std::filesystem;

const char* kind_of(fs::file_type type) {
  switch (type) {
    case fs::file_type::regular:
      return "a file";
    case fs::file_type::directory:
      return "a folder";
    case fs::file_type::fifo:
      return "a pipe";
    case fs::file_type::socket:
      return "a socket";
    case fs::file_type::character:
      return "a character device";
    case fs::file_type::block:
      return "a block device";
    default:
      return "a special file";
  }
}

std::string why_no_folder(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) return "";
  if (status.type() == fs::file_type::not_found) return "does not exist";
  if (error) return concat("can't be opened (", error.message(), ")");
  return concat("is ", kind_of(status.type()));
}

bool is_name(const std::string& path) {
  std::error_code unseen;
  return fs::exists(fs::symlink_status(path, unseen));
}

}  // namespace rondo
