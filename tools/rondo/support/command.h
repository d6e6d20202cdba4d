// Command: a command of the program and its options. Only command.cpp includes CLI11, because its header
// takes longer to compile than all files that add options.
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

// Option and Command are handles to objects that the CLI::App owns.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}
  Option required() const;
  Option needs(Option other) const;     // an error if `other` is not given
  Option excludes(Option other) const;  // an error if `other` is given too

 private:
  CLI::Option* option_;
};

// Receives the text of a value. Throws a bad_argument Error for an invalid value.
using Reader = std::function<void(const std::string&)>;

class Command {
 public:
  explicit Command(CLI::App* app) : app_(app) {}

  // Requires one of the added commands on the command line.
  void require_command() const;
  Command add_command(const std::string& name, const std::string& help) const;

  // Adds an option ("--name", "-n,--name") or a positional argument ("name"). `value` is its placeholder in
  // the help text.
  Option add(const std::string& name, const std::string& value, const std::string& help,
             const Reader& read) const;
  // Calls `read` for each value. An option takes one value per occurrence, a positional argument any number.
  Option add_list(const std::string& name, const std::string& value, const std::string& help,
                  const Reader& read) const;
  Option add_flag(const std::string& name, bool& to, const std::string& help) const;

  // Adds an option that only other commands have. Giving it, with a value or without, is an error with the
  // reason. The help does not show it.
  void refuse(const std::string& name, const std::string& reason) const;

  // Calls `check` after the command and all of its options are parsed.
  void when_parsed(const std::function<void()>& check) const;
  bool parsed() const;
  std::string name() const;

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
