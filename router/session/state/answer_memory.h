// The memory of one answer between engine and client, in the budget of all answers and in the metrics.
//
// Counted in blocks, so most calls of Hold() touch nothing shared. Given back at its end. Belongs to one loop.
#ifndef PENSTOCK_ROUTER_SESSION_STATE_ANSWER_MEMORY_H_
#define PENSTOCK_ROUTER_SESSION_STATE_ANSWER_MEMORY_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/hash/hash.h"
#include "backends/transport/connection.h"
#include "base/fair_budget.h"
#include "base/units.h"
#include "router/session/rules/attempt_end.h"
#include "router/session/state/session_state.h"

namespace penstock {

class AnswerMemory {
 public:
  // So many bytes are bounded by the number of connections.
  static constexpr size_t kFree = 4 << 10;
  // Every piece of an answer is shorter.
  static constexpr size_t kBlock = 72 << 10;
  static_assert(kBlock > Connection::kInputLimit);

  explicit AnswerMemory(const SessionState& state, size_t block = kBlock)
      : AnswerMemory(state.loop.edge(), state.limits->max_answer_memory,
                     AccountOf(state.prepared.caller, state.request.peer), block) {}
  // For the bytes that a dialect gathers in front of the session. `account` is the caller's.
  AnswerMemory(Edge& edge, Bytes limit, uint64_t account, size_t block = kBlock)
      : edge_(edge), limit_(limit), block_(block), share_(&edge_.answers, account) {}
  ~AnswerMemory() { Hold(0); }
  AnswerMemory(const AnswerMemory&) = delete;
  AnswerMemory& operator=(const AnswerMemory&) = delete;

  // Holds room for so many bytes from now on, and no more. False, and nothing changes: the budget has no room.
  bool Hold(size_t bytes) {
    const Bytes wanted(bytes <= kFree ? 0 : static_cast<int64_t>((bytes + block_ - 1) / block_ * block_));
    const Bytes before = share_.held();
    if (wanted == before) return true;
    share_.ShrinkTo(wanted);
    const bool holds = share_.GrowTo(wanted, limit_);
    edge_.telemetry->AddBufferedBytes((share_.held() - before).value());
    return holds;
  }
  // An answer found no room.
  void CountRefusal() { edge_.telemetry->OnTurnedAway(TurnedAway::kAnswerMemory); }
  // A quarter of the budget is taken: answers that may do without memory leave the rest to others. One caller alone
  // gets half of it.
  bool crowded() const { return edge_.answers.used().value() > limit_.value() / 4; }
  // So many bytes are within what is held.
  bool Covers(size_t bytes) const { return bytes <= std::max(kFree, static_cast<size_t>(share_.held().value())); }

 private:
  Edge& edge_;
  const Bytes limit_;
  const size_t block_;
  FairShare share_;
};

// The most bytes of an answer that are parsed in one piece. Long events and translated whole
// answers are parsed beside the loop.
inline size_t LongestAtOnce(Bytes max_answer) {
  constexpr Bytes kLongest{32 << 20};
  return static_cast<size_t>(std::min(kLongest, max_answer).value());
}

// An attempt whose answer finds no memory; counted.
inline AttemptEnd NoRoomForAnswer(const SessionState& state) {
  state.loop.edge().telemetry->OnTurnedAway(TurnedAway::kAnswerMemory);
  return NoAnswerMemory();
}

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SESSION_STATE_ANSWER_MEMORY_H_
