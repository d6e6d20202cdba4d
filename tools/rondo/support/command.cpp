#include <CLI/CLI.hpp>

#include <rondo/kernels/core/status.h>
#include <rondo/tools/rondo/support/command.h>

namespace rondo::program {

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

void Command::require_command() const { app_->require_subcommand(1); }

Command Command::add_command(const std::string& name, const std::string& help) const {
  return Command(app_->add_subcommand(name, help));
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

CommandParser::CommandParser(const std::string& name, const std::string& description,
                             const std::string& version)
    : app_(std::make_unique<CLI::App>(description, name)) {
  app_->require_subcommand(0, 1);
  app_->set_version_flag("--version", version);
}
CommandParser::~CommandParser() = default;

std::string CommandParser::help() const { return app_->help(); }

CommandParser::Outcome CommandParser::parse(const std::vector<std::string>& words) {
  std::vector<const char*> arguments;
  for (const std::string& word : words) arguments.push_back(word.c_str());
  try {
    app_->parse(static_cast<int>(arguments.size()), arguments.data());
  } catch (const CLI::CallForHelp&) {
    text_ = help();
    return Outcome::text;
  } catch (const CLI::CallForVersion& version) {
    text_ = std::string(version.what()) + "\n";
    return Outcome::text;
  } catch (const CLI::RequiredError&) {
    return Outcome::missing;
  } catch (const CLI::ParseError& error) {
    const std::string command =
        app_->get_subcommands().empty() ? "" : app_->get_subcommands()[0]->get_name() + " ";
    const std::string why = error.what();
    throw Error(bad_argument(why.substr(0, why.find('\n')), "; rondo ", command,
                             "--help shows what is valid"));
  }
  return Outcome::parsed;
}

}  // namespace rondo::program
