// Counts the tokens of one request by their worth to its client: the one definition of active, late and abandoned
// tokens.
//
// Token i (the first is 0) is due at arrival + TTFT goal + i x TPOT goal. A token that reached the client by then is
// active, a later one is late, if the request ends with stop, length or tool_calls. Otherwise all its tokens are
// abandoned. The caller counts a token once, when it reaches the client; a regenerated token is not counted again.
// A plain value, used by the edge, the load client and the simulator. Each call costs a division.
#ifndef PENSTOCK_KVMODEL_ACTIVE_TOKENS_H_
#define PENSTOCK_KVMODEL_ACTIVE_TOKENS_H_

#include <cstdint>

#include "base/units.h"

namespace penstock {

class ActiveTokenCounter {
 public:
  ActiveTokenCounter() = default;
  // `ttft` and `tpot` are the goals of the request's class; negative ones count as zero.
  ActiveTokenCounter(Instant arrival, Duration ttft, Duration tpot);

  // The next `count` tokens reached the client at `when`; the number of late ones among them. `when` does not go back.
  int64_t OnTokens(int64_t count, Instant when);
  // The request ended and no tokens follow. Called at most once.
  void OnEnd(bool ended_well);

  int64_t tokens() const { return timely_ + late_; }
  // Tokens that were not late, however the request ends.
  int64_t timely() const { return timely_; }
  // The next three are 0 before the end.
  int64_t active() const { return ended_well_ ? timely_ : 0; }
  int64_t late() const { return ended_well_ ? late_ : 0; }
  int64_t abandoned() const { return ended_ && !ended_well_ ? tokens() : 0; }
  // It ended well with tokens, and none of them was late.
  bool on_time() const { return ended_well_ && late_ == 0 && timely_ > 0; }

 private:
  // The number of tokens whose due time lies before `when`: their indexes are below it.
  int64_t DueBefore(Instant when) const;

  Instant first_due_;
  Duration tpot_;
  int64_t timely_ = 0;
  int64_t late_ = 0;
  bool ended_ = false;
  bool ended_well_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_KVMODEL_ACTIVE_TOKENS_H_
