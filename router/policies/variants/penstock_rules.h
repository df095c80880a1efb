// Other rules for the rooms of PenstockCore: ablations, `present_use`, and the orders of the yardstick.
//
// Each replaces one rule of CoreRules and is stateless.
#ifndef PENSTOCK_ROUTER_POLICIES_VARIANTS_PENSTOCK_RULES_H_
#define PENSTOCK_ROUTER_POLICIES_VARIANTS_PENSTOCK_RULES_H_

#include <functional>
#include <optional>

#include "router/core/books/forecasts.h"
#include "router/core/placement/memory_test.h"
#include "router/core/queue/lane_order.h"

namespace penstock {

// The growth forecast, with another fill or without its variance.
class VariedForecast : public ForecastRule {
 public:
  VariedForecast(double fill, bool variance) : fill_(fill), variance_(variance) {}
  double Fill() const override { return fill_; }

 protected:
  double ZOf(const PoolState& pool) const override { return variance_ ? ForecastRule::ZOf(pool) : 0; }

 private:
  const double fill_;
  const bool variance_;
};

// The memory that is held now, prompts on their way included.
class PresentUse : public MemoryRule {
 public:
  explicit PresentUse(double fill) : fill_(fill) {}
  double Fill() const override { return fill_; }
  PoolPeak BoundWith(const PoolState& pool, const GrowthVector& joining, int until, Instant now) const override;
  std::optional<PoolPeak> Floor(const PoolState& pool, Instant now) const override {
    return PoolPeak{pool.growth().PresentFloor(now), 0};
  }

 private:
  const double fill_;
};

// No test: only a pool whose available memory is negative takes no request.
class UnlimitedMemory : public MemoryRule {
 public:
  double Fill() const override { return 1; }
  PoolPeak BoundWith(const PoolState&, const GrowthVector&, int, Instant) const override { return {}; }
};

// Earliest first-token deadline.
class DeadlineOrder : public LaneOrder {
 protected:
  Instant Place(const OrderQuestion& question) override { return question.Deadline(); }
};

// Least GPU time per output token.
class DensityFirst : public LaneOrder {
 protected:
  Instant Place(const OrderQuestion& question) override;
};

// Least GPU time.
class ShortestWorkFirst : public LaneOrder {
 protected:
  Instant Place(const OrderQuestion& question) override;
};

// Output curves without tenants or without a choice among levels, or known outputs.
class VariedOutputs : public OutputKnowledge {
 public:
  struct Options {
    bool by_tenant = true;                       // False: neither tenant nor request shape has a curve.
    bool levels = true;                          // False: every request reads its tenant's detail.
    bool in_growth = true;                       // Known outputs bound the growth of pools too.
    std::function<Tokens(RequestId)> output_of;  // Null: no output is known.
  };
  explicit VariedOutputs(Options options) : options_(std::move(options)) {}
  OutputForecaster::Key KeyOf(const RequestArrived& arrived) const override;
  std::optional<Tokens> OutputOf(RequestId request) const override;
  bool InGrowth() const override { return options_.in_growth; }
  bool ChoosesLevels() const override { return options_.levels; }

 private:
  const Options options_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_POLICIES_VARIANTS_PENSTOCK_RULES_H_
