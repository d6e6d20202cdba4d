// Program: the commands of the program. Each has options (Command, Option) and does its work with their
// values. Only command.cpp includes CLI11, because its header takes longer to compile than all files that add
// options.
#pragma once

#include <rondo/tools/rondo/support/terminal.h>

#include <any>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <type_traits>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace rondo {
class ProcessGroup;
}

namespace rondo::program {

struct CommandNotes;

// Option and Command are handles to objects that the CLI::App owns.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}
  Option required() const;
  Option needs(Option other) const;                 // an error if `other` is not given
  Option excludes(Option other) const;              // an error if `other` is given too
  Option in_group(const std::string& title) const;  // a part of its own in the help

 private:
  CLI::Option* option_;
};

// Receives the text of a value. Throws a bad_argument Error for an invalid value.
using Reader = std::function<void(const std::string&)>;

class Command {
 public:
  Command(CLI::App* app, CommandNotes* notes) : app_(app), notes_(notes) {}

  // Requires one of the added commands on the command line.
  void require_command() const;
  // The error if a required argument, or command, is not given.
  void when_missing(const std::string& message) const;
  // Changes the words after the command's name before they are parsed.
  void rewrite(const std::function<void(std::vector<std::string>&)>& change) const;
  // Takes all words after the command's name as they are, except for --help in front.
  void take_rest(std::vector<std::string>& to) const;
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
  CommandNotes* notes_;
};

// What a command gets from main().
struct RunContext {
  std::ostream& out;
  Terminal terminal = {};
  ProcessGroup* processes = nullptr;  // that run the command together; null: this process only
};

// The command of a command line, and its options.
struct ParsedCommand {
  std::string name = {};    // "lenet"; empty: help or version
  std::any arguments = {};  // of the type with which the command was added
  std::string text = {};    // the help or the version
  // Returns the signal that ended the work early, or 0. Throws rondo::Error.
  std::function<int(const RunContext&)> run = {};
  // How long processes wait for each other that an MPI launcher started together. Not given: the command
  // ignores the launcher.
  std::optional<std::chrono::seconds> timeout = std::nullopt;
};

// The program's commands, and the parser of its command line.
class Program {
 public:
  Program(const std::string& name, const std::string& description, const std::string& version);
  ~Program();

  Command command() const { return Command(app_.get(), notes_.get()); }

  // Adds a command to `parent`. `add_options(command, arguments)` adds its options, which are read into
  // `arguments`; `run(arguments, context)` is what the command does. It returns nothing, or a signal as
  // ParsedCommand::run. With a member `timeout`, in seconds, the arguments are those of a command that
  // several processes run together.
  template <class Arguments, class AddOptions, class Run>
  Command add(const Command& parent, const std::string& name, const std::string& help,
              const AddOptions& add_options, const Run& run);
  template <class Arguments, class AddOptions, class Run>
  Command add(const std::string& name, const std::string& help, const AddOptions& add_options,
              const Run& run) {
    return add<Arguments>(command(), name, help, add_options, run);
  }

  // `words`: the command line, with the program's name. Without a command the result has the help. Throws a
  // bad_argument Error with a one-line message that names the value and the valid values.
  ParsedCommand parse(std::vector<std::string> words) const;

 private:
  struct Entry {
    Command command;
    std::function<ParsedCommand()> parsed;
  };

  std::unique_ptr<CLI::App> app_;
  std::unique_ptr<CommandNotes> notes_;
  std::vector<Entry> entries_;
};

template <class Arguments, class AddOptions, class Run>
Command Program::add(const Command& parent, const std::string& name, const std::string& help,
                     const AddOptions& add_options, const Run& run) {
  const auto arguments = std::make_shared<Arguments>();
  const Command command = parent.add_command(name, help);
  add_options(command, *arguments);
  entries_.push_back({command, [name, arguments, run] {
                        ParsedCommand parsed = {.name = name, .arguments = *arguments};
                        parsed.run = [given = *arguments, run](const RunContext& context) {
                          if constexpr (std::is_void_v<decltype(run(given, context))>) {
                            run(given, context);
                            return 0;
                          } else {
                            return run(given, context);
                          }
                        };
                        if constexpr (requires { arguments->timeout; })
                          parsed.timeout = std::chrono::seconds(arguments->timeout);
                        return parsed;
                      }});
  return command;
}

}  // namespace rondo::program
