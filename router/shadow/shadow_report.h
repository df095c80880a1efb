// The findings of a shadow, for pages, metrics and texts. Values; docs/shadow.md defines the figures.
#ifndef PENSTOCK_ROUTER_SHADOW_SHADOW_REPORT_H_
#define PENSTOCK_ROUTER_SHADOW_SHADOW_REPORT_H_

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "router/shadow/service_sums.h"
#include "router/shadow/shadow_verdict.h"

namespace penstock {

// The requests of one verdict, and how they ended in reality.
struct VerdictTally {
  int64_t requests = 0;
  int64_t on_time = 0;
  int64_t late = 0;    // Ended well, and not on time.
  int64_t failed = 0;  // Ended in another way; client gone included.
  double late_tokens = 0;
  // These are forecasts of the shadow; zero where it makes none.
  double gain = 0;          // Seconds by which first tokens would have come earlier.
  int64_t overfull = 0;     // Went where the memory is forecast to overflow; a choice of the shadow is not.
  int64_t within_goal = 0;  // The shadow's first token is forecast within the TTFT goal.
};

// First tokens of the placements that were really made: the shadow's forecast and the observation.
struct ForecastCheck {
  int64_t compared = 0;
  double expected = 0;        // Sum of seconds.
  double observed = 0;        // Sum of seconds.
  double absolute_error = 0;  // Sum of seconds.
};

struct ShadowDifference {
  uint64_t number = 0;
  Instant at;
  ShadowVerdict verdict = ShadowVerdict::kSame;
  uint64_t request = 0;
  std::string model;
  std::string service_class;
  std::string replica;                         // Empty: it was refused.
  std::string shadow_replica;                  // Empty: the shadow sent it nowhere.
  std::string reason;                          // That of its refusal or wait; empty: it sent the request.
  std::optional<double> expected_ttft;         // Seconds from the decision, by the shadow, where it went.
  std::optional<double> shadow_expected_ttft;  // The same where the shadow would have sent it.
  std::optional<double> peak_share;
  std::optional<double> shadow_peak_share;
  std::string outcome;  // on_time, late, failed or refused; empty: it has not ended.
};

// The two policies on simulated copies of the fleet, and what really happened to the same requests.
struct CounterfactualReport {
  std::string unavailable;  // Why there is none; empty: there is.
  ServiceSums real;
  ServiceSums decides;  // The deciding policy, simulated: how far the model is from reality.
  ServiceSums shadow;   // The shadow, simulated.
  double seconds = 0;   // Time of the arrivals.
  // Requests that are not compared: client gone, refused by the engine, several sequences, or an unknown end.
  int64_t left_out = 0;
  // Requests that a start of the copies took out of the sums. They ran on the copies or waited for them, came in the
  // warm-up, or were compared at speeds that proved wrong.
  int64_t cut_off = 0;
  int64_t drawn = 0;   // Outputs that nobody knows, drawn from those of the model.
  int64_t starts = 0;  // Times that the copies started from an empty fleet.
  double behind = 0;   // Seconds by which the copies are behind the present.
  // Real, deciding and shadow, with the sums that were discarded: for counters that never fall.
  std::array<ServiceSums, 3> ever;
  // Below this number of compared requests the worth says nothing.
  static constexpr int64_t kEnough = 200;
};

struct ShadowReport {
  std::string decides;
  std::string shadow;
  bool forecasts = false;
  double seconds = 0;    // Since the first event.
  int64_t compared = 0;  // Decisions.
  int64_t agreed = 0;
  int64_t events = 0;
  int64_t dropped = 0;       // Events that were lost because the shadow fell behind.
  int64_t resets = 0;        // Times that its books began anew after that.
  int64_t fleet_orders = 0;  // Orders of the shadow to replicas, which nobody obeyed.
  int64_t aborts = 0;        // Tries of requests that the shadow would have taken back.
  bool failed = false;       // An exception ended the shadow; the rest is as it was before.
  std::array<VerdictTally, kShadowVerdicts> verdicts;
  ForecastCheck forecast;
  std::vector<ShadowDifference> recent;  // Newest first.
  CounterfactualReport counterfactual;
  Instant made;
};

// Any thread; nullopt: the router has no shadow.
using ShadowSource = std::function<std::optional<ShadowReport>()>;

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SHADOW_SHADOW_REPORT_H_
