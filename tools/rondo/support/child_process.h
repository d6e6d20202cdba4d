// ChildProcess: another program that answers lines with lines.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace rondo::program {

class ChildProcess {
 public:
  // Starts words[0], which is looked up in PATH, with the other words as arguments. Its standard input and
  // output are this object's lines; its standard error is this program's. Throws a bad_argument Error that
  // begins with `option` if it cannot be started.
  ChildProcess(const std::string& option, std::vector<std::string> words);
  ~ChildProcess();  // ends it
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Writes a line, and reads the answer, both without the line's end. Throws an Error if the program has
  // ended.
  std::string ask(const std::string& line);

 private:
  [[noreturn]] void throw_ended() const;

  std::string name_;
  int socket_ = -1;
  pid_t child_ = -1;
  std::string received_;  // after the last line
};

}  // namespace rondo::program
