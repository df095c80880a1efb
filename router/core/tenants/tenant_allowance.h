// The limits of one tenant: a bucket of tokens that refills over a minute, and a number of requests at a time.
//
// A request is charged at its arrival for its prompt and the output that is forecast for this tenant. Its end corrects
// the charge. A refused request is charged nothing. Forecasts that were too low overdraw a bucket. A request larger
// than the whole bucket enters when the bucket is full, so no size is shut out for ever. Invariant: a bucket holds at
// most its size. A pure value; O(1).
#ifndef PENSTOCK_ROUTER_CORE_TENANTS_TENANT_ALLOWANCE_H_
#define PENSTOCK_ROUTER_CORE_TENANTS_TENANT_ALLOWANCE_H_

#include <cstdint>
#include <optional>
#include <variant>

#include "base/units.h"

namespace penstock {

struct TenantLimits {
  std::optional<int64_t> tokens_per_minute;  // At least 1.
  std::optional<int64_t> max_concurrent;
  bool operator==(const TenantLimits&) const = default;
};

// The expected use of a request as of its arrival.
struct TenantDemand {
  Tokens prompt{0};
  Tokens max_output{0};   // Per output; 0: none given.
  int64_t sequences = 1;  // Outputs; 0: it generates nothing.
};

struct TenantDenial {
  bool by_requests = false;  // Else by tokens.
  Duration retry_after;
  int64_t bound = 0;
  int64_t value = 0;
};

class TenantAllowance {
 public:
  explicit TenantAllowance(const TenantLimits& limits) { SetLimits(limits, Instant()); }

  // Used tokens stay used; a bucket that is new or grew begins full.
  void SetLimits(const TenantLimits& limits, Instant now);

  // The tokens charged, to be given back to Settle once.
  std::variant<Tokens, TenantDenial> Admit(const TenantDemand& demand, Instant now);
  // The request ended, having used this; `output` of one sequence is learned when it ended by itself.
  void Settle(Tokens charged, Tokens used, Instant now);
  void Learn(Tokens output);

  // Negative when overdrawn.
  Tokens available(Instant now) const;
  int64_t concurrent() const { return concurrent_; }

 private:
  void Refill(Instant now);

  TenantLimits limits_;
  double level_ = 0;
  Instant refilled_at_;
  int64_t concurrent_ = 0;
  double mean_output_ = 256;  // Until the first ends tell better.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_TENANTS_TENANT_ALLOWANCE_H_
