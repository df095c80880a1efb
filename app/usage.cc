#include "app/usage.h"

#include <algorithm>
#include <cstdio>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "app/option_parsers.h"
#include "config/text/findings.h"

namespace penstock {
namespace {

std::vector<std::string> CommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

std::vector<std::string> OptionNames(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string SuggestionOf(absl::string_view given, const std::vector<std::string>& names) {
  return Suggestion(given, {names.begin(), names.end()});
}

// The part of the command line that `command` does not know, as an error; empty: it knows all.
std::string Unknown(const CLI::App& command, bool is_root) {
  const std::vector<std::string> extras = command.remaining();
  for (const std::string& extra : extras) {
    const std::string name = extra.substr(0, extra.find('='));
    if (name.size() > 1 && name.front() == '-') {
      return absl::StrCat("unknown option ", name, SuggestionOf(name, OptionNames(command)));
    }
  }
  if (extras.empty()) return "";
  if (!is_root) return absl::StrCat("unexpected argument \"", extras.front(), "\"");
  return absl::StrCat("unknown command \"", extras.front(), "\"", SuggestionOf(extras.front(), CommandNames(command)));
}

}  // namespace

void AddHelp(CLI::App& app, std::function<int()>& action) {
  auto name = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("help", "Print the help of a command.");
  command->footer("Example: penstock help serve");
  command->add_option("command", *name, "Command")->type_name("COMMAND");
  command->callback([&app, &action, name] {
    const std::vector<std::string> names = CommandNames(app);
    if (!name->empty() && std::find(names.begin(), names.end(), *name) == names.end()) {
      Reject("", absl::StrCat("unknown command \"", *name, "\"", SuggestionOf(*name, names)));
    }
    action = [&app, name] {
      // The root would print the help of the parsed command, which is this one.
      const std::string prefix = app.get_name();
      app.clear();
      const CLI::App* meant = name->empty() ? &app : app.get_subcommand(*name);
      const std::string text = name->empty() ? meant->help() : meant->help(prefix);
      return std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0 ? 1 : 0;
    };
  });
}

std::string UsageError(const CLI::App& app, const CLI::Error& error) {
  const std::vector<CLI::App*> parsed = app.get_subcommands();
  const bool is_root = parsed.empty();
  const CLI::App& command = is_root ? app : *parsed.back();
  std::string name = app.get_name();
  if (!is_root) absl::StrAppend(&name, " ", command.get_name());
  std::string what = Unknown(command, is_root);
  if (what.empty()) what = error.what();
  return absl::StrCat(name, ": ", what, "\nRun `", name, " --help` for more.\n");
}

int EndParsing(const CLI::App& app, const CLI::ParseError& error) {
  const bool hides = error.get_exit_code() == 0 && app.get_subcommands().empty() && !Unknown(app, true).empty();
  if (!hides) return app.exit(error);
  std::fputs(UsageError(app, error).c_str(), stderr);
  return static_cast<int>(CLI::ExitCodes::ExtrasError);
}

CLI::Validator OneOf(const std::vector<std::string>& names) {
  const auto complaint = [names](const std::string& text) -> std::string {
    if (std::find(names.begin(), names.end(), text) != names.end()) return "";
    return absl::StrCat("unknown name \"", text, "\"", SuggestionOf(text, names),
                        ", known: ", absl::StrJoin(names, " "));
  };
  return CLI::Validator(complaint, "{" + absl::StrJoin(names, ",") + "}");
}

}  // namespace penstock
