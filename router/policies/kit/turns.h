// The order of past choices: breaks ties in favour of the replica that was chosen longest ago. A value; owner: one
// rule.
#ifndef PENSTOCK_ROUTER_POLICIES_KIT_TURNS_H_
#define PENSTOCK_ROUTER_POLICIES_KIT_TURNS_H_

#include <cstdint>
#include <vector>

#include "base/ids.h"

namespace penstock {

class Turns {
 public:
  // A number that grows with the replica's last choice; 0: never chosen.
  uint64_t Of(ReplicaId id) const { return id.value() < chosen_at_.size() ? chosen_at_[id.value()] : 0; }
  // Records a choice of the replica and returns the replica.
  ReplicaId Take(ReplicaId id) {
    if (id.value() >= chosen_at_.size()) chosen_at_.resize(id.value() + 1);
    chosen_at_[id.value()] = ++choices_;
    return id;
  }

 private:
  uint64_t choices_ = 0;
  std::vector<uint64_t> chosen_at_;  // Per replica: the value of choices_ at its last choice.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_POLICIES_KIT_TURNS_H_
