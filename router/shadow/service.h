// Measures the worth of a request to its client, as far as the events of a decision core tell.
//
// The events have the time of the first token and of the end. The tokens in between are taken to have come evenly; an
// answer that came in one piece came at its end. The session counts each token. This measure needs only the events, so
// it is the same for a live router and for simulated ones. Pure.
#ifndef PENSTOCK_ROUTER_SHADOW_SERVICE_H_
#define PENSTOCK_ROUTER_SHADOW_SERVICE_H_

#include <cstdint>
#include <optional>

#include "base/units.h"

namespace penstock {

struct ServiceTimes {
  Instant arrived;
  std::optional<Instant> first;  // None: the answer came in one piece, or never.
  Instant end;
  int64_t tokens = 0;
  bool finished = false;  // The engine ended it well.
};

struct Service {
  bool finished = false;
  bool on_time = false;
  double active = 0;  // Tokens that came in time, of a request that ended well.
  double late = 0;    // The others of it.
  double abandoned = 0;
  std::optional<double> ttft;  // Seconds.
};

Service ServiceOf(const ServiceTimes& times, Duration ttft_goal, Duration tpot_goal);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SHADOW_SERVICE_H_
