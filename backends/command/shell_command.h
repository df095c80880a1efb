// One command of the operator as a process: /bin/sh -c TEXT.
//
// The process has a process group of its own, and no blocked signals. Its environment is that of the router with some
// additions. Its input is empty, its output and its errors are read here, and it has no other file of the router. Only
// the last output stays. The command is text of the configuration only; nothing from a network becomes a part of it.
//
// A command that still runs when its object is destroyed runs on. Its output is read ten times a second, 64 KiB at most
// each time. A command that writes faster is held up. Used on one loop; nothing blocks it.
#ifndef PENSTOCK_BACKENDS_COMMAND_SHELL_COMMAND_H_
#define PENSTOCK_BACKENDS_COMMAND_SHELL_COMMAND_H_

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace penstock {

struct CommandEnd {
  int status = 0;  // Exit status.
  int signal = 0;  // That ended it; 0: none.
  bool ok() const { return status == 0 && signal == 0; }
  // "status 3" or "signal 9".
  std::string Text() const;
};

class ShellCommand {
 public:
  // The bytes of output that stay.
  static constexpr size_t kKeptOutput = 2048;

  // `additions` are NAME=VALUE and win over the router's own variables. `on_end` runs on the loop at the end, unless
  // the object is destroyed before. ResourceExhausted or Unavailable: no process could be made.
  static absl::StatusOr<std::unique_ptr<ShellCommand>> Start(boost::asio::io_context& loop, const std::string& text,
                                                             const std::vector<std::string>& additions,
                                                             std::function<void()> on_end);
  ~ShellCommand();
  ShellCommand(const ShellCommand&) = delete;
  ShellCommand& operator=(const ShellCommand&) = delete;

  // Nullopt: it runs.
  std::optional<CommandEnd> end() const;
  // The command has ended, and its group too where Kill() ended it. `on_end` runs again then.
  bool over() const;
  // The last output in one line, without control characters.
  std::string Output() const;
  // Ends the whole group: SIGTERM, two seconds later SIGKILL, also where only the shell obeyed. Nothing once the
  // command has ended by itself: processes that it left in the background live on.
  void Kill();

 private:
  struct State;
  explicit ShellCommand(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_COMMAND_SHELL_COMMAND_H_
