// Command: a command of the program and its options. Only command.cpp includes CLI11, whose header takes
// longer to compile than all files that add options.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace rondo::program {

// Option and Command are handles of what the CLI::App owns.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}
  Option required() const;
  Option needs(Option other) const;     // is refused without the other one
  Option excludes(Option other) const;  // is refused beside the other one

 private:
  CLI::Option* option_;
};

// Gets the text of a value. Throws a bad_argument Error for one that makes no sense.
using Reader = std::function<void(const std::string&)>;

class Command {
 public:
  explicit Command(CLI::App* app) : app_(app) {}

  // One of the commands that were added must be given.
  void require_command() const;
  Command add_command(const std::string& name, const std::string& help) const;

  // An option ("--name", "-n,--name") or a positional argument ("name"); `value` stands for its value in the
  // help.
  Option add(const std::string& name, const std::string& value, const std::string& help,
             const Reader& read) const;
  // `read` gets each value. An option takes one value each time that it is given, a positional argument any
  // number.
  Option add_list(const std::string& name, const std::string& value, const std::string& help,
                  const Reader& read) const;
  Option add_flag(const std::string& name, bool& to, const std::string& help) const;

  // Called when the command was given and all its options are read.
  void when_parsed(const std::function<void()>& check) const;
  bool parsed() const;

 private:
  CLI::App* app_;
};

// The parser of a command line, which owns all commands.
class CommandParser {
 public:
  CommandParser(const std::string& name, const std::string& description, const std::string& version);
  ~CommandParser();

  Command command() const { return Command(app_.get()); }
  // The help of the command that was parsed.
  std::string help() const;

  enum class Outcome {
    parsed,
    text,     // help or version was asked for: text() has it
    missing,  // a required argument was not given
  };
  // `words`: the command line, with the program's name. Throws a bad_argument Error.
  Outcome parse(const std::vector<std::string>& words);
  const std::string& text() const { return text_; }

 private:
  std::unique_ptr<CLI::App> app_;
  std::string text_;
};

}  // namespace rondo::program
