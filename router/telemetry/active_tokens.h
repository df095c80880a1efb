// Counts the tokens of one request as active, late or abandoned.
//
// Token i (the first is 0) is due at arrival + TTFT goal + i x TPOT goal. A request ends well with stop, length or
// tool_calls. Then a token that reached the client by its due time is active, and a later one is late. Otherwise all
// tokens are abandoned. Only tokens that reach the client count, so a regenerated token counts once.
// A plain value, used by the edge and by the load client. Each call costs a division.
#ifndef PENSTOCK_ROUTER_TELEMETRY_ACTIVE_TOKENS_H_
#define PENSTOCK_ROUTER_TELEMETRY_ACTIVE_TOKENS_H_

#include <cstdint>

#include "base/units.h"

namespace penstock {

class ActiveTokenCounter {
 public:
  ActiveTokenCounter() = default;
  // `ttft` and `tpot` are the goals of the request's class; negative ones count as zero.
  ActiveTokenCounter(Instant arrival, Duration ttft, Duration tpot);

  // The next `count` tokens reached the client at `when`. `when` may not go back.
  void OnTokens(int64_t count, Instant when);
  // The request ended; no tokens follow. Called once at most.
  void OnEnd(bool ended_well);

  int64_t tokens() const { return on_time_ + late_; }
  int64_t active() const { return ended_well_ ? on_time_ : 0; }
  int64_t late() const { return ended_well_ ? late_ : 0; }
  int64_t abandoned() const { return ended_ && !ended_well_ ? tokens() : 0; }
  // True when the request ended well with at least one token and none of them late.
  bool on_time() const { return ended_well_ && late_ == 0 && on_time_ > 0; }

 private:
  // The number of tokens whose due time lies before `when`.
  int64_t DueBefore(Instant when) const;

  Instant first_due_;
  Duration tpot_;
  int64_t on_time_ = 0;
  int64_t late_ = 0;
  bool ended_ = false;
  bool ended_well_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_TELEMETRY_ACTIVE_TOKENS_H_
