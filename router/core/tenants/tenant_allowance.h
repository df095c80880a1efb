// The limits of one tenant: a bucket of tokens that refills over a minute, and a number of requests at a time.
//
// A request is charged at its arrival: its prompt, and min(max_output, mean output of the tenant) for each sequence.
// Its end corrects the charge. Forecasts that were too low overdraw a bucket. A request larger than the whole bucket
// enters when the bucket is full, so no size is shut out for ever. Invariant: a bucket holds at most its size. A pure
// value; O(1).
#ifndef PENSTOCK_ROUTER_CORE_TENANTS_TENANT_ALLOWANCE_H_
#define PENSTOCK_ROUTER_CORE_TENANTS_TENANT_ALLOWANCE_H_

#include <cstdint>
#include <variant>

#include "base/units.h"
#include "router/core/contract/fleet.h"

namespace penstock {

// The expected use of a request as of its arrival.
struct TenantDemand {
  Tokens prompt{0};
  Tokens max_output{0};   // Per output; 0: none given.
  int64_t sequences = 1;  // Outputs; 0: it generates nothing.
};

struct TenantDenial {
  bool by_requests = false;  // False: by tokens.
  Duration retry_after;      // Until the bucket holds enough; 1 s where the requests are too many.
  int64_t bound = 0;         // Requests, or tokens per minute.
  int64_t value = 0;         // The value that broke the bound.
};

class TenantAllowance {
 public:
  explicit TenantAllowance(const TenantLimits& limits) { SetLimits(limits, Instant()); }

  // Used tokens stay used; the part of the bucket that is new begins full.
  void SetLimits(const TenantLimits& limits, Instant now);

  // The charged tokens, which the caller passes to Settle once.
  std::variant<Tokens, TenantDenial> Admit(const TenantDemand& demand, Instant now);
  // The request ended and used `used` tokens.
  void Settle(Tokens charged, Tokens used, Instant now);
  // One output ended by itself with this many tokens; the mean moves by 1/32 of the difference.
  void Learn(Tokens output);

  // Negative when overdrawn.
  Tokens available(Instant now) const;
  int64_t concurrent() const { return concurrent_; }
  const TenantLimits& limits() const { return limits_; }

 private:
  void Refill(Instant now);

  TenantLimits limits_;
  double level_ = 0;
  Instant refilled_at_;
  int64_t concurrent_ = 0;
  double mean_output_ = 256;  // Tokens of one output; a guess until outputs end.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_TENANTS_TENANT_ALLOWANCE_H_
