// The facts of one request that the rooms of its session share.
//
// The session owns it; each field has one writer, named beside it. Belongs to the session's loop.
#ifndef PENSTOCK_ROUTER_SESSION_STATE_SESSION_STATE_H_
#define PENSTOCK_ROUTER_SESSION_STATE_SESSION_STATE_H_

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/hash/hash.h"
#include "base/clock.h"
#include "config/config.h"
#include "kvmodel/prompt/prompt_estimate.h"
#include "router/core/contract/action.h"
#include "router/live/event_loop.h"
#include "router/openai/answer/stream_relay.h"
#include "router/session/client/client.h"
#include "router/session/rules/resume_rules.h"
#include "router/session/state/preparation.h"
#include "router/session/state/silent_work.h"

namespace penstock {

struct SessionState {
  SessionState(EventLoop& the_loop, Client& the_client, SessionRequest the_request)
      : loop(the_loop),
        receiver(&the_client),
        request(std::move(the_request)),
        first_fleet(loop.fleet()),
        fleet(first_fleet),
        limits(fleet->limits),
        arrival(Now()) {}

  EventLoop& loop;
  Client* receiver;  // Delivery: the client, or one at an even pace in front of it.
  const SessionRequest request;
  const std::shared_ptr<const FleetView> first_fleet;  // Of the arrival: while it lives, so do its models and classes.
  std::shared_ptr<const FleetView> fleet;              // Session: of the arrival, then of the last forward.
  const std::shared_ptr<const LimitsConfig> limits;    // Those of the arrival.
  const Instant arrival;
  PreparedRequest prepared;                    // Session. AnswerStream gives up the place of the key.
  PromptEstimate estimate;                     // Admission.
  std::optional<AllowanceView> allowance;      // Admission: what the tenant had left then.
  std::optional<Forward> forward;              // Session: the last one.
  std::optional<Park> park;                    // Session: the last one.
  Instant answer_deadline = Instant::Never();  // Session.
  AttemptLedger ledger;                        // Session.
  HeaderList engine_headers;                   // Attempt: those for the client.
  RelayState answer;                           // The relay of each attempt, Delivery.
  Instant heard;                               // Session, then the attempt: the last bytes of the engine.
  std::optional<SilentWork> silent_work;       // Attempt: until the first token, where the engine may be silent.
  std::optional<EngineErrorKind> given_up;     // Session: the present attempt ends because its engine does nothing.
  std::string response_id;                     // Attempt: the engine keeps the answer under it. Empty: it does not.
  int engine_status = 0;                       // Attempt: of the present one; 0: no answer yet.
  bool in_prefill = false;                     // PrefillStage: the request is at the engine that computes its prompt.
  std::string handover;                        // PrefillStage: the words for the decode engine. Empty: no cache comes.
  bool cache_failed = false;                   // Session: a decode engine failed with a cache that was handed over.
  bool any_answer = false;                     // Attempt: the client has part of the answer.
  bool told_broken = false;                    // Session: it counted against the health of a replica.

  Client& client() const { return *receiver; }
  const RequestFacts& facts() const { return prepared.facts; }
  // The replica of the last forward that has the request now.
  ReplicaId replica() const { return in_prefill ? forward->prefill->replica : forward->replica; }
  // Its engine.
  const EngineAccess& engine() const { return fleet->engines[replica().value()]; }
  // Tells this request from every other one, also from one to which its client gave the same id.
  uint64_t Unique() const { return absl::HashOf(request.id, arrival.nanoseconds()); }
  // At most `limit`, and no longer than the answer may take in all.
  Duration Left(Duration limit) const { return std::min(limit, std::max(Duration(), answer_deadline - Now())); }
  // The replica that computes the prompt for the last forward; empty: the one that answers.
  std::string PrefillName() const {
    const bool named = forward && forward->prefill && forward->prefill->replica.value() < fleet->engines.size();
    return named ? fleet->engines[forward->prefill->replica.value()].name : std::string();
  }
  // The one that has the request. Empty before the first forward.
  std::string ReplicaName() const {
    return forward && replica().value() < fleet->engines.size() ? engine().name : std::string();
  }
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SESSION_STATE_SESSION_STATE_H_
