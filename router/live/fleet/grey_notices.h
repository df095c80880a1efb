// Tells the log when a replica is found slow or standing still, and when that is over.
//
// The core writes no log; its views are compared, one after the other. Belongs to the control loop. O(replicas).
#ifndef PENSTOCK_ROUTER_LIVE_FLEET_GREY_NOTICES_H_
#define PENSTOCK_ROUTER_LIVE_FLEET_GREY_NOTICES_H_

#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "router/core/contract/view.h"
#include "router/live/event_loop.h"
#include "router/live/fleet/notice.h"

namespace penstock {

class GreyNotices {
 public:
  // A view that is not older than the one before.
  void Tell(const Edge& edge, const CoreView& view) {
    told_.resize(view.replicas.size());
    for (size_t i = 0; i < view.replicas.size(); ++i) {
      const GreyView& grey = view.replicas[i].grey;
      if (view.replicas[i].name.empty()) told_[i] = GreyCause::kNone;  // The place is vacant.
      if (told_[i] == grey.cause) continue;
      told_[i] = grey.cause;
      LogNotice(edge, view.replicas[i].name, TextOf(grey));
    }
  }

 private:
  static std::string TextOf(const GreyView& grey) {
    if (grey.stalled) return "replica stands still while others go on; it gets no request before its next step";
    if (grey.cause == GreyCause::kNone) return "replica is as fast as its peers again";
    return absl::StrFormat("replica is %.1f times slower than its peers (cause: %s); it gets less in proportion",
                           grey.derate, GreyCauseName(grey.cause));
  }

  std::vector<GreyCause> told_;  // One entry per replica.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_FLEET_GREY_NOTICES_H_
