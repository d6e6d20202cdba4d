#include <CLI/CLI.hpp>

#include <rondo/tools/rondo/support/command.h>

#include <vector>

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

void Command::when_parsed(const std::function<void()>& check) const { app_->callback(check); }

bool Command::parsed() const { return app_->parsed(); }

}  // namespace rondo::program
