// Puts an engine to sleep and wakes it by two commands of the operator.
//
// Awake: the start command did not fail, and the engine answers its pages. The command may end, or run for as long as
// the engine does. Asleep: the stop command ended well, no start command runs, and the engine answers no more. Whoever
// polls the engine reports that with OnPoll(). A start command that still runs at the silence, or two seconds
// after the stop command ended, is killed, and its end is waited for. After a wake that failed, the stop command runs
// too, so that no memory stays taken. Where that fails after a start command that ended well, the engine may hold
// memory. A wake first ends the start command of an earlier wake in this way. Used on one loop; one operation at a
// time.
#ifndef PENSTOCK_BACKENDS_COMMAND_COMMAND_SLEEP_H_
#define PENSTOCK_BACKENDS_COMMAND_COMMAND_SLEEP_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <string>
#include <vector>

#include "backends/command/shell_command.h"
#include "backends/engines/contract/verb_end.h"
#include "base/units.h"

namespace penstock {

class CommandSleep {
 public:
  // `environment` is NAME=VALUE, for both commands.
  CommandSleep(boost::asio::io_context& loop, std::vector<std::string> environment)
      : loop_(loop), environment_(std::move(environment)), news_(loop) {}

  boost::asio::awaitable<VerbEnd> Run(Verb verb, std::string start, std::string stop, Duration timeout);
  // The engine answered its pages, or did not.
  void OnPoll(bool answered);
  // A start command runs, or its processes are being killed. It may be the engine.
  bool start_runs() const { return started_ != nullptr && !started_->over(); }
  // Ends an operation soon. Commands that run are left alone.
  void Stop();
  // Nobody polls the engine any more. A wake is undone as one that failed, and a sleep waits for no silence.
  void Abandon();

 private:
  boost::asio::awaitable<VerbEnd> Wake(const std::string& start, const std::string& stop, Instant end);
  boost::asio::awaitable<VerbEnd> FallAsleep(const std::string& stop, Instant end);
  boost::asio::awaitable<VerbEnd> RunStop(const std::string& stop, Instant end);
  // Kills the start command, if it runs. False: it has not ended long after that.
  boost::asio::awaitable<bool> EndStart();
  boost::asio::awaitable<void> AwaitNews(Instant end);
  absl::StatusOr<std::unique_ptr<ShellCommand>> Launch(const std::string& text);

  enum class Seen : uint8_t { kNothing, kAnswer, kSilence };

  boost::asio::io_context& loop_;
  const std::vector<std::string> environment_;
  boost::asio::steady_timer news_;         // Cancelled when there are news.
  std::unique_ptr<ShellCommand> started_;  // The last start command; it may be the engine.
  std::unique_ptr<ShellCommand> stopping_;
  Seen seen_ = Seen::kNothing;  // Since the last order.
  bool stopped_ = false;
  bool abandoned_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_COMMAND_COMMAND_SLEEP_H_
