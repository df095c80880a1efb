// The rules for the time after an attempt: place the request again, continue its answer, finish it, or fail it. Pure.
//
// The bars hold in the order of their ResumeResult. Tries and time come first. Where the client has part of the answer,
// every property that makes a continuation visible to the client follows.
#ifndef PENSTOCK_ROUTER_SESSION_RULES_RESUME_RULES_H_
#define PENSTOCK_ROUTER_SESSION_RULES_RESUME_RULES_H_

#include <cstdint>
#include <optional>

#include "absl/container/inlined_vector.h"
#include "backends/dialect/endpoint.h"
#include "base/ids.h"
#include "base/units.h"
#include "router/labels/labels.h"
#include "router/openai/error/api_error.h"
#include "router/openai/request/request_scan.h"
#include "router/session/rules/attempt_end.h"

namespace penstock {

// Failed attempts of one request.
inline constexpr int kMaxFailures = 6;
// Failed attempts without a delivered token in between.
inline constexpr int kMaxFailuresInARow = 3;
// Engines that got a part of the request or all of it, and then died, hung or failed. A request that kills its engines
// must not meet them all. In a row means without a delivered token in between.
inline constexpr int kMaxLosses = 3;
inline constexpr int kMaxLossesInARow = 2;
// Attempts at engines that could not be connected to, without a delivered token in between. They got nothing of the
// request.
inline constexpr int kMaxUnreached = 8;
// The first pause before another attempt at an engine that was out of reach; each further one is twice as long. The
// fleet hears of the engine meanwhile, and then the request waits for one that is up.
inline constexpr Duration kFirstPause = Duration::Milliseconds(25);

// The attempts of one request, counted.
class AttemptLedger {
 public:
  void OnForward() { ++attempts_; }
  // `delivered`: tokens that the client has by now.
  void OnEnd(const AttemptEnd& end, ReplicaId replica, int64_t delivered);

  int attempts() const { return attempts_; }
  // One of the limits above is reached.
  bool exhausted() const {
    return unreached_ >= kMaxUnreached || failures_ >= kMaxFailures || failures_in_a_row_ >= kMaxFailuresInARow ||
           losses_ >= kMaxLosses || losses_in_a_row_ >= kMaxLossesInARow;
  }
  // The time before the next attempt; zero unless the last engine was out of reach before.
  Duration pause() const { return pause_; }
  // The last engine that was lost without a token is at this replica.
  bool LostAt(ReplicaId replica) const { return lost_at_ == replica; }

 private:
  void OnUnreached(ReplicaId replica);

  int attempts_ = 0;
  int failures_ = 0;
  int failures_in_a_row_ = 0;
  int losses_ = 0;
  int losses_in_a_row_ = 0;
  std::optional<ReplicaId> lost_at_;
  int64_t delivered_at_failure_ = 0;
  int unreached_ = 0;
  absl::InlinedVector<ReplicaId, 2> unreached_at_;
  Duration pause_;
};

// The engine got a part of the request or all of it, and then died, hung or failed: the request may be the cause.
bool IsLoss(const AttemptEnd& end);

// The answer and the fleet as the rules look at them.
struct AnswerProgress {
  bool any_answer = false;         // The client has part of the answer.
  bool resume_due = false;         // The client waits for the answer to go on.
  int64_t delivered = 0;           // Tokens that the client has.
  bool other_text = false;         // The client has text that no longer prompt can repeat.
  bool text_whole = false;         // All the client's text is stored.
  bool another_serves = false;     // Another replica serves the model.
  bool another_continues = false;  // Some replica of the model continues a text of the endpoint.
  bool exhausted = false;          // AttemptLedger::exhausted.
  Instant deadline = Instant::Never();
};

struct NextStep {
  enum class Kind : uint8_t {
    kEnd,          // The answer is complete.
    kStop,         // The client is gone.
    kShutDown,     // Fail it because the router ends.
    kPlaceAgain,   // From the start.
    kContinue,     // From the text that the client has.
    kCloseAnswer,  // Only the end of the stream is missing; the router writes it.
    kFail,         // With the attempt's error.
  };
  Kind kind = Kind::kEnd;
  // kFail: the reason why the request is not placed again; unset where the attempt's end allows no other.
  std::optional<ResumeResult> bar;
  // The result of a resumption that ends here; to be counted.
  std::optional<ResumeResult> resume;
};

NextStep After(const AttemptEnd& end, Endpoint endpoint, const RequestFacts& facts, const AnswerProgress& progress,
               Instant now);

// The error of an attempt that `bar` keeps from being placed again.
ApiError ErrorOf(const AttemptEnd& end, ResumeResult bar, bool any_answer);

// True: a client that sends the request again would repeat its effects, or cost further engines.
bool MustNotBeRetried(const AttemptEnd& end, const NextStep& step, const RequestFacts& facts);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SESSION_RULES_RESUME_RULES_H_
