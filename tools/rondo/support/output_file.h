// OutputFile: an output file named on the command line. Its path is checked before the work starts; its
// contents are written atomically.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace rondo::program {

struct HeldFile;

class OutputFile {
 public:
  OutputFile();  // not requested

  // `option` names the argument in messages. An empty path means "not requested". Checks that `path` can be
  // written, and locks it against other runs until destruction (nn/io/durable_file.h, FileLock); a signal
  // that ends the program removes the lock file. Throws a bad_argument Error if the path can't be written,
  // another run holds it, or another output of this process is the same file.
  OutputFile(const std::string& option, const std::string& path);
  OutputFile(OutputFile&&) noexcept;
  ~OutputFile();

  bool wanted() const { return !target_.empty(); }
  const std::string& path() const { return path_; }
  std::string shown() const;  // the path, printable: nn/io/printable.h

  // The path after following links: equal for two names of the same file.
  const std::string& target() const { return target_; }

  // See the function below. Does nothing for an output that is not requested.
  void check_is_not(const std::string& what, const std::string& input) const;

  // Replaces the file's contents (nn/io/durable_file.h): a reader sees either the old or the new contents. A
  // signal that would end the program is deferred until the write is complete. Throws an Error that is never
  // a bad_argument, because the command line was valid; the file then keeps its old contents.
  void write(std::string_view contents) const;

 private:
  std::string path_;
  std::string target_;
  std::unique_ptr<HeldFile> held_;
};

// Throws a bad_argument Error if the output `path` is an input of the same command, whatever their names: it
// would replace the input. `what` is what the input is, such as "the solution". An empty input is none.
void check_is_not(const std::string& option, const std::string& path, const std::string& what,
                  const std::string& input);

}  // namespace rondo::program
