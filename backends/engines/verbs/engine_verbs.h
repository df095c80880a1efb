// Puts one engine to sleep or wakes it by its own requests, and asks it which of both it is.
//
// The declaration of the engine names the requests. A verb has ended when its requests succeeded and the page of the
// engine, where it has one, tells the wanted state. A refused verb counts as ended when the page tells the wanted
// state: somebody else was first. Used on one loop; one operation at a time. Stop() ends an operation soon.
#ifndef PENSTOCK_BACKENDS_ENGINES_VERBS_ENGINE_VERBS_H_
#define PENSTOCK_BACKENDS_ENGINES_VERBS_ENGINE_VERBS_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backends/engines/contract/sleep_verbs.h"
#include "backends/transport/upstream.h"
#include "base/units.h"

namespace penstock {

enum class Verb : uint8_t { kSleep, kWake };

enum class VerbFault : uint8_t {
  kNone,
  kRefused,    // Status 4xx or 501: the engine has no such verb, or not now.
  kServer,     // Another status, an answer that is not HTTP, or a model that could not be loaded.
  kConnect,    // Not reachable, or lost in the middle.
  kTimeout,    // No end in time.
  kUnchanged,  // The verb was answered well, and the engine says that nothing happened.
  kStopped,    // Stop() was called.
};

struct VerbEnd {
  VerbFault fault = VerbFault::kNone;
  std::string message;     // For the log, where there is a fault.
  bool page_lies = false;  // It is awake and answers, but its page says that it sleeps.
  bool ok() const { return fault == VerbFault::kNone; }
};

class EngineVerbs {
 public:
  // `verbs` is that of a declaration and has both verbs. `key` as for polls.
  EngineVerbs(boost::asio::io_context& loop, UpstreamPool& pool, std::string key, const SleepVerbs& verbs,
              SleepTarget target);

  boost::asio::awaitable<VerbEnd> Run(Verb verb, Duration timeout);
  // Unknown where the engine has no such page, or does not answer it.
  boost::asio::awaitable<EngineRest> Ask();
  void Stop();

 private:
  boost::asio::awaitable<VerbEnd> Send(const VerbRequest& request, Instant end);
  boost::asio::awaitable<VerbEnd> Confirm(EngineRest wanted, Instant end);
  // An engine whose page may lie is asked for one token.
  boost::asio::awaitable<bool> Answers();
  boost::asio::awaitable<void> Pause(Duration time);
  boost::asio::awaitable<absl::StatusOr<UpstreamHead>> Exchange(const UpstreamRequest& request, Duration timeout,
                                                                std::string* body);

  UpstreamPool& pool_;
  const std::string key_;
  const SleepVerbs& verbs_;
  const SleepTarget target_;
  boost::asio::steady_timer pause_;
  UpstreamExchange exchange_;
  bool stopped_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_ENGINES_VERBS_ENGINE_VERBS_H_
