// One request for an engine, from its body to the last byte of its answer, for a client of any kind.
//
// Run() reads top to bottom as the life of the request: preparation, arrival at the core, verdicts, attempts, and the
// rules after each. Whatever happens, the ticket reports one end to the core and one RequestRecord goes to the
// telemetry. The client is watched all the time: when it goes, the ticket closes and so does the engine's connection,
// at once. The session and its request outlive Run(). Belongs to one loop; lives in the coroutine of its client.
#ifndef PENSTOCK_ROUTER_SESSION_SESSION_H_
#define PENSTOCK_ROUTER_SESSION_SESSION_H_

#include <boost/asio/awaitable.hpp>
#include <optional>

#include "base/fair_budget.h"
#include "router/live/signal.h"
#include "router/live/ticket.h"
#include "router/session/admission.h"
#include "router/session/attempt.h"
#include "router/session/delivery.h"
#include "router/session/ending.h"
#include "router/session/free_choice.h"
#include "router/session/gathered/fresh_start.h"
#include "router/session/rules/resume_rules.h"
#include "router/session/session_record.h"
#include "router/session/state/session_state.h"

namespace penstock {

class Session final : private TicketHolder {
 public:
  // The loop must know a fleet. `client` and the request's headers and body outlive the session.
  Session(EventLoop& loop, Client& client, SessionRequest request);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Awaited once.
  boost::asio::awaitable<void> Run();

 private:
  // Scans a long body, or one of a passed request, and lets the loop do other work after each slice.
  boost::asio::awaitable<void> ServeLongBody();
  boost::asio::awaitable<void> Serve();

  // Begins an attempt where the core says so. False: the request has ended.
  boost::asio::awaitable<bool> AwaitPlace();
  // None: there is none yet, the client is gone, or the request is cut.
  std::optional<Verdict> VerdictAtHand();
  // None: the client is gone, or the request is cut.
  boost::asio::awaitable<std::optional<Verdict>> AwaitVerdict();

  void BeginAttempt(const Forward& forward);
  // The engine failed or refused the request by its own word, and the cache that it was to take over may be the cause.
  // True once at most.
  bool TellsOfLostCache(const AttemptEnd& end);
  // Counts the end of an attempt that did not finish, and asks the rules.
  NextStep Judge(AttemptEnd& end);
  void PlaceAgain(AttemptEnd end);
  AnswerProgress ProgressNow() const;
  // True: an abort would end the answer, or the whole answer would come too late for its time limit.
  bool MustGoOn(AbortReason reason) const;

  void OnClientGone();
  void OnVerdict() override { wake_.Notify(); }
  bool OnAbort(AbortReason reason) override;
  void OnCut() override;
  void OnReplicaLost(ReplicaId replica, EngineLoss loss) override;
  LiveRequest Describe() const override { return record_.Describe(); }

  SessionState state_;
  Signal wake_;
  Delivery delivery_;
  FreshStart fresh_;
  SessionRecord record_;
  Admission admission_;
  Ending ending_;
  std::optional<Attempt> attempt_;
  FreeChoice free_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SESSION_SESSION_H_
