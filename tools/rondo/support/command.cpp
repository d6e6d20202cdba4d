#include <CLI/CLI.hpp>

#include <rondo/kernels/core/status.h>
#include <rondo/tools/rondo/support/command.h>
#include <rondo/tools/rondo/support/suggestion.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

namespace rondo::program {
namespace {

// The command that was parsed: of "train lenet" lenet.
const CLI::App& parsed_command(const CLI::App& app) {
  const std::vector<CLI::App*> parsed = app.get_subcommands();
  return parsed.empty() ? app : parsed_command(*parsed[0]);
}

// "rondo train lenet"
std::string full_name(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return parent ? full_name(*parent) + " " + command.get_name() : command.get_name();
}

// "train lenet has", of the program itself "there is": its name begins the line of the error already.
std::string subject(const CLI::App& command) {
  const std::string name = full_name(command);
  return command.get_parent() ? concat(name.substr(name.find(' ') + 1), " has") : "there is";
}

// "--learning-rate": "train lenet has no option --learning-rate (did you mean --lr?)"
std::string about_unexpected(const CLI::App& command, const std::string& word) {
  const bool option = word.size() > 1 && word[0] == '-';
  std::vector<std::string> known;
  if (option) {
    for (const CLI::Option* one : command.get_options()) {
      if (one->get_group().empty()) continue;  // hidden
      for (const std::string& name : one->get_lnames()) known.push_back("--" + name);
      for (const std::string& name : one->get_snames()) known.push_back("-" + name);
    }
  } else {
    for (const CLI::App* one : command.get_subcommands({})) known.push_back(one->get_name());
  }
  const std::string name = option ? word.substr(0, word.find('=')) : word;
  const std::string meant = suggestion(name, known);
  const std::string hint = meant.empty() ? "" : concat(" (did you mean ", meant, "?)");
  if (option) return concat(subject(command), " no option ", name, hint);
  if (!known.empty()) return concat(subject(command), " no command '", name, "'", hint);
  return concat("'", name, "' is not expected by ", full_name(command));
}

// The first option after "--", from which on words are no options; or none.
std::string option_after_dashes(const std::vector<std::string>& words) {
  const auto dashes = std::ranges::find(words, "--");
  const auto option = std::find_if(dashes, words.end(), [](const std::string& word) {
    return word.size() > 1 && word != "--" && word[0] == '-';
  });
  return option == words.end() ? "" : *option;
}

// CLI11 says "--lr: 1 required RATE missing", "nesterov was given a disallowed flag override" and "--lr: At
// Most 1 required but received 2".
std::string about_values(const std::string& why) {
  const auto part = [&](std::string_view before, std::string_view after) -> std::optional<std::string> {
    const size_t begin = why.find(before);
    if (begin == std::string::npos || !why.ends_with(after)) return {};
    return why.substr(begin + before.size(), why.size() - after.size() - begin - before.size());
  };
  if (const auto value = part(": 1 required ", " missing"))
    return concat(why.substr(0, why.find(':')), " has no value, must have one (", *value, ")");
  if (const auto flag = part("", " was given a disallowed flag override"))
    return concat("--", *flag, " has a value, must have none");
  if (const auto times = part(": At Most 1 required but received ", ""))
    return concat(why.substr(0, why.find(':')), " is given ", *times, " times, must be given once");
  return why;
}

}  // namespace

// What Command adds to a CLI::App.
struct CommandNotes {
  std::map<const CLI::App*, std::string> missing;
  std::map<const CLI::App*, std::function<void(std::vector<std::string>&)>> rewritten;

  // Rewrites the words after the name of the command that `words` names.
  void apply(const CLI::App& program, std::vector<std::string>& words) const {
    for (const auto& [command, change] : rewritten) {
      if (words.size() < 2 || command->get_parent() != &program || command->get_name() != words[1]) continue;
      std::vector<std::string> rest(words.begin() + 2, words.end());
      change(rest);
      words.resize(2);
      words.insert(words.end(), rest.begin(), rest.end());
    }
  }

  // The message of the command, else of the one that has it.
  std::string when_missing(const CLI::App* command, const std::string& otherwise) const {
    for (; command; command = command->get_parent())
      if (const auto found = missing.find(command); found != missing.end()) return found->second;
    return otherwise;
  }
};

Option Option::required() const {
  option_->required();
  return *this;
}
Option Option::needs(Option other) const {
  option_->needs(other.option_);
  return *this;
}
Option Option::excludes(Option other) const {
  option_->excludes(other.option_);
  return *this;
}

Option Option::in_group(const std::string& title) const {
  option_->group(title);
  return *this;
}

void Command::require_command() const { app_->require_subcommand(1); }

void Command::when_missing(const std::string& message) const { notes_->missing[app_] = message; }

void Command::rewrite(const std::function<void(std::vector<std::string>&)>& change) const {
  notes_->rewritten[app_] = change;
}

void Command::take_rest(std::vector<std::string>& to) const {
  rewrite([&to](std::vector<std::string>& rest) {
    if (!rest.empty() && rest[0] == "--help") return;
    to.swap(rest);
    rest.clear();
  });
}

Command Command::add_command(const std::string& name, const std::string& help) const {
  return Command(app_->add_subcommand(name, help), notes_);
}

Option Command::add(const std::string& name, const std::string& value, const std::string& help,
                    const Reader& read) const {
  return Option(app_->add_option_function<std::string>(name, read, help)->type_name(value));
}

Option Command::add_list(const std::string& name, const std::string& value, const std::string& help,
                         const Reader& read) const {
  CLI::Option* option = app_->add_option_function<std::vector<std::string>>(
      name,
      [read](const std::vector<std::string>& values) {
        for (const std::string& one : values) read(one);
      },
      help);
  option->type_name(value);
  if (name.starts_with('-')) option->allow_extra_args(false);
  return Option(option);
}

Option Command::add_flag(const std::string& name, bool& to, const std::string& help) const {
  return Option(app_->add_flag(name, to, help)->disable_flag_override());
}

void Command::refuse(const std::string& name, const std::string& reason) const {
  const std::string message = concat(name, " is not possible with ", app_->get_name(), ": ", reason);
  app_->add_option_function<std::string>(
          name, [message](const std::string&) { throw Error(bad_argument(message)); }, "")
      ->expected(0, 1)
      ->group("");  // hidden
}

void Command::when_parsed(const std::function<void()>& check) const { app_->callback(check); }

bool Command::parsed() const { return app_->parsed(); }
std::string Command::name() const { return app_->get_name(); }

Program::Program(const std::string& name, const std::string& description, const std::string& version)
    : app_(std::make_unique<CLI::App>(description, name)), notes_(std::make_unique<CommandNotes>()) {
  app_->require_subcommand(0, 1);
  app_->set_version_flag("--version", version);
}
Program::~Program() = default;

ParsedCommand Program::parse(std::vector<std::string> words) const {
  const auto print = [](const std::string& text) {
    return ParsedCommand{.text = text, .run = [text](const RunContext& context) {
                           context.out << text;
                           return 0;
                         }};
  };
  notes_->apply(*app_, words);
  std::vector<const char*> arguments;
  for (const std::string& word : words) arguments.push_back(word.c_str());
  try {
    app_->parse(static_cast<int>(arguments.size()), arguments.data());
  } catch (const CLI::CallForHelp&) {
    return print(app_->help());
  } catch (const CLI::CallForVersion& version) {
    return print(std::string(version.what()) + "\n");
  } catch (const CLI::ParseError& error) {
    const CLI::App& command = parsed_command(*app_);
    const std::vector<std::string> unexpected = app_->remaining(true);
    const bool missing = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
    // "profile gemmm": the required command is not missing, it is misspelled.
    const bool misspelled =
        !unexpected.empty() && !unexpected[0].starts_with('-') && !command.get_subcommands({}).empty();
    std::string why = error.what();
    why = why.substr(0, why.find('\n'));
    if (missing && !misspelled) throw Error(bad_argument(notes_->when_missing(&command, why)));
    const std::string after = option_after_dashes(words);
    why = unexpected.empty() ? about_values(why)
          : after.empty()    ? about_unexpected(command, unexpected[0])
                             : concat("'", after, "' is not expected after --");
    throw Error(bad_argument(why, "; ", full_name(command), " --help shows what is valid"));
  }
  for (const Entry& entry : entries_)
    if (entry.command.parsed()) return entry.parsed();
  return print(app_->help());
}

}  // namespace rondo::program
