#include "backends/command/command_sleep.h"

#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"

namespace penstock {
namespace {

namespace asio = boost::asio;

// The stop command has this time after a wake that failed, and a killed start command has it to end.
constexpr Duration kCleanUp = Duration::Seconds(30);
// An engine that the stop command asked to end has this time.
constexpr Duration kOwnEnd = Duration::Seconds(2);
// An engine whose start command was killed is polled within this time.
constexpr Duration kLastLook = Duration::Seconds(5);
// A line of the log is short.
constexpr size_t kShownOutput = 300;

std::string LastWords(const ShellCommand& command) {
  const std::string output = command.Output();
  if (output.empty()) return "";
  return absl::StrCat("; its last output: ", output.substr(output.size() - std::min(output.size(), kShownOutput)));
}

VerbEnd GivenUp() { return {VerbFault::kStopped, "given up"}; }
VerbEnd Immortal() { return {VerbFault::kCommand, "the start command runs on although it was killed"}; }

}  // namespace

void CommandSleep::OnPoll(bool answered) {
  seen_ = answered ? Seen::kAnswer : Seen::kSilence;
  news_.cancel();
}

void CommandSleep::Stop() {
  stopped_ = true;
  news_.cancel();
}

void CommandSleep::Abandon() {
  abandoned_ = true;
  news_.cancel();
}

asio::awaitable<VerbEnd> CommandSleep::Run(Verb verb, std::string start, std::string stop, Duration timeout) {
  const Instant end = Now() + timeout;
  VerbEnd result;
  if (verb == Verb::kWake) {
    result = co_await Wake(start, stop, end);
  } else {
    result = co_await FallAsleep(stop, end);
  }
  co_return result;
}

absl::StatusOr<std::unique_ptr<ShellCommand>> CommandSleep::Launch(const std::string& text) {
  seen_ = Seen::kNothing;
  return ShellCommand::Start(loop_, text, environment_, [this] { news_.cancel(); });
}

asio::awaitable<VerbEnd> CommandSleep::Wake(const std::string& start, const std::string& stop, Instant end) {
  // The start command of an earlier wake may be an engine that hangs.
  const bool alone = co_await EndStart();
  if (stopped_) co_return GivenUp();
  if (!alone) co_return VerbEnd{VerbFault::kCommand, Immortal().message, false, true};
  auto launched = Launch(start);
  if (!launched.ok()) co_return VerbEnd{VerbFault::kCommand, std::string(launched.status().message())};
  started_ = *std::move(launched);
  VerbEnd failed;
  while (failed.ok()) {
    if (stopped_) co_return GivenUp();
    const std::optional<CommandEnd> ended = started_->end();
    if (abandoned_) {
      failed = GivenUp();
    } else if (ended && !ended->ok()) {
      failed = {VerbFault::kCommand,
                absl::StrCat("the start command ended with ", ended->Text(), LastWords(*started_))};
    } else if (seen_ == Seen::kAnswer) {
      co_return VerbEnd();
    } else if (Now() >= end) {
      failed = {VerbFault::kTimeout,
                absl::StrCat("the engine did not answer in time after its start command", LastWords(*started_))};
    } else {
      co_await AwaitNews(end);
    }
  }
  // Else the start was the engine, or failed before there was one.
  const bool detached = started_->end().has_value() && started_->end()->ok();
  started_->Kill();
  const VerbEnd cleaned = co_await RunStop(stop, Now() + kCleanUp);
  const bool ended = co_await EndStart();
  if (stopped_) co_return GivenUp();
  if (!ended) absl::StrAppend(&failed.message, "; ", Immortal().message);
  if (!cleaned.ok()) absl::StrAppend(&failed.message, "; then ", cleaned.message);
  failed.holds = !ended || (!cleaned.ok() && detached);
  co_return failed;
}

asio::awaitable<VerbEnd> CommandSleep::FallAsleep(const std::string& stop, Instant end) {
  const VerbEnd ran = co_await RunStop(stop, end);
  if (!ran.ok()) co_return ran;
  seen_ = Seen::kNothing;
  const Instant own_end = std::min(end, Now() + kOwnEnd);
  while (start_runs() && seen_ != Seen::kSilence && !abandoned_ && !stopped_ && Now() < own_end) {
    co_await AwaitNews(own_end);
  }
  // A start command that is still there may be the engine, whatever the stop command did.
  const bool was_there = start_runs();
  const bool ended = co_await EndStart();
  if (stopped_) co_return GivenUp();
  if (!ended) co_return Immortal();
  if (was_there) end = std::max(end, Now() + kLastLook);
  while (seen_ != Seen::kSilence && !abandoned_) {
    if (stopped_) co_return GivenUp();
    if (Now() >= end) co_return VerbEnd{VerbFault::kUnchanged, "the engine still answers after its stop command ended"};
    co_await AwaitNews(end);
  }
  co_return VerbEnd();
}

asio::awaitable<bool> CommandSleep::EndStart() {
  if (!start_runs()) co_return true;
  started_->Kill();
  const Instant limit = Now() + kCleanUp;
  while (start_runs() && !stopped_ && Now() < limit) co_await AwaitNews(limit);
  co_return !start_runs();
}

asio::awaitable<VerbEnd> CommandSleep::RunStop(const std::string& stop, Instant end) {
  auto launched = Launch(stop);
  if (!launched.ok()) co_return VerbEnd{VerbFault::kCommand, std::string(launched.status().message())};
  stopping_ = *std::move(launched);
  while (!stopping_->end()) {
    if (stopped_) co_return GivenUp();
    if (Now() >= end) {
      stopping_->Kill();
      co_return VerbEnd{VerbFault::kTimeout,
                        absl::StrCat("the stop command did not end in time", LastWords(*stopping_))};
    }
    co_await AwaitNews(end);
  }
  if (stopping_->end()->ok()) co_return VerbEnd();
  co_return VerbEnd{VerbFault::kCommand,
                    absl::StrCat("the stop command ended with ", stopping_->end()->Text(), LastWords(*stopping_))};
}

asio::awaitable<void> CommandSleep::AwaitNews(Instant end) {
  boost::system::error_code ignored;
  news_.expires_at(ToTimePoint(end));
  co_await news_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

}  // namespace penstock
