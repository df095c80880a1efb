// Usage of the command line: `help`, and errors that offer the name that was meant.
//
// For the main thread, while it parses.
#ifndef PENSTOCK_APP_USAGE_H_
#define PENSTOCK_APP_USAGE_H_

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace penstock {

// Adds `penstock help [COMMAND]`. `action` is set as by every other command.
void AddHelp(CLI::App& app, std::function<int()>& action);

// The error of a command line that `app` has parsed: an unknown command, an unknown option, or the error of CLI11. Ends
// with the command that prints more.
std::string UsageError(const CLI::App& app, const CLI::Error& error);

// Ends a command line that is not taken or asks for help or the version, and returns the exit code. An unknown command
// gets no help: it is the error.
int EndParsing(const CLI::App& app, const CLI::ParseError& error);

// Takes one of the names only; the error offers the nearest.
CLI::Validator OneOf(const std::vector<std::string>& names);

}  // namespace penstock

#endif  // PENSTOCK_APP_USAGE_H_
