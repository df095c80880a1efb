// The work of an engine behind a background response, watched until it ends, so that its lease does not end before.
//
// Penstock asks the engine for the response after each eighth of the work's age: a quarter of a second at least, five
// seconds at most. The work has ended when its status says so, or when the engine does not know it three times in a
// row. An engine that is out of reach for half a minute, or tells no status, has lost it. Penstock has the engine
// cancel such work, and work that outlives limits.answer_timeout. A draining router leaves the work to the engine,
// where any router finds it. Work of a replica that a reload renames, moves or removes is watched on at its old
// address. What the watch reads costs no memory. It lives in the attempt, on its loop.
#ifndef PENSTOCK_ROUTER_SESSION_APART_BACKGROUND_WATCH_H_
#define PENSTOCK_ROUTER_SESSION_APART_BACKGROUND_WATCH_H_

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>
#include <string>

#include "backends/dialect/answer_reader.h"
#include "backends/dialect/headers.h"
#include "backends/transport/upstream.h"
#include "router/core/contract/event.h"
#include "router/live/deadlines.h"
#include "router/live/signal.h"
#include "router/session/state/session_state.h"

namespace penstock {

// The pause before the next look at work of this age.
Duration PauseAt(Duration age);

class BackgroundWatch {
 public:
  // `pool`: the one that the request was sent with.
  BackgroundWatch(SessionState& state, std::shared_ptr<UpstreamPool> pool, HeaderList headers);

  // Waits for the end of the work and tells how it ended. A usage that the engine tells goes into the state. Awaited
  // once.
  boost::asio::awaitable<Outcome> Run();
  // Run() ends. It has the engine cancel the work, unless the router drains.
  void Leave();
  // Has the engine cancel the work. Waits for its word, for two seconds at most, and tries three times.
  boost::asio::awaitable<void> Cancel();

 private:
  // A look at the response found one of these.
  enum class Found : uint8_t { kRunning, kEnded, kNothing, kSilence };

  boost::asio::awaitable<void> Pause();
  boost::asio::awaitable<Found> Look();
  struct Reply {
    int status = 0;        // 0: there is no whole answer.
    bool endless = false;  // It is longer than limits.max_answer, or takes too long.
    AnswerFacts facts;
  };
  // The answer is scanned as it comes, and not stored.
  boost::asio::awaitable<Reply> Ask(const char* method, std::string target, Duration patience);
  Found Read(const AnswerFacts& facts);
  bool draining() const;
  bool leaving() const { return left_ || draining(); }

  SessionState& state_;
  std::shared_ptr<UpstreamPool> pool_;  // The newest one of the replica.
  const HeaderList headers_;
  const Instant began_;
  Signal wake_;
  CoarseDeadline pause_;
  std::optional<UpstreamExchange> exchange_;
  bool left_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SESSION_APART_BACKGROUND_WATCH_H_
