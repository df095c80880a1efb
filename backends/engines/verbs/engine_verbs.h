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
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backends/engines/contract/sleep_verbs.h"
#include "backends/engines/contract/verb_end.h"
#include "backends/transport/upstream.h"
#include "base/units.h"

namespace penstock {

class EngineVerbs {
 public:
  // `verbs` is that of a declaration and has both verbs. `key` as for polls.
  EngineVerbs(boost::asio::io_context& loop, UpstreamPool& pool, std::string key, const SleepVerbs& verbs,
              SleepTarget target);

  // A wake that fails is put back by the requests of a sleep, so that no memory stays taken.
  boost::asio::awaitable<VerbEnd> Run(Verb verb, Duration timeout);
  // Unknown where the engine has no such page, or does not answer it.
  boost::asio::awaitable<EngineRest> Ask();
  // Sends one request beside the verbs.
  boost::asio::awaitable<VerbEnd> Post(VerbRequest request, Duration timeout);
  void Stop();

 private:
  // Sends the requests of the verb and confirms their end.
  boost::asio::awaitable<VerbEnd> Carry(Verb verb, Duration timeout);
  // Notes where that fails.
  boost::asio::awaitable<void> PutBack(VerbEnd& failed, Duration timeout);
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
  bool began_ = false;  // The engine took something of the verb.
  bool stopped_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_ENGINES_VERBS_ENGINE_VERBS_H_
