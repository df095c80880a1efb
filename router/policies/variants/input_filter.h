// A core that sees another input than its caller gives: fleets and arrivals are changed before they reach it.
//
// Ablations use it to take a fact away from PenstockCore. Invariant: equal events are changed alike, so the filtered
// core keeps the contract of AdmissionCore. A change costs a copy of the event.
#ifndef PENSTOCK_ROUTER_POLICIES_VARIANTS_INPUT_FILTER_H_
#define PENSTOCK_ROUTER_POLICIES_VARIANTS_INPUT_FILTER_H_

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "router/core/contract/admission_core.h"
#include "router/core/contract/following_core.h"

namespace penstock {

class InputFilter : public AdmissionCore, public FollowingCore {
 public:
  // Applied in order.
  struct Changes {
    std::vector<void (*)(Fleet&)> fleet;
    std::vector<void (*)(RequestArrived&)> arrival;
  };

  InputFilter(std::unique_ptr<AdmissionCore> core, Changes changes)
      : core_(std::move(core)), changes_(std::move(changes)), following_(dynamic_cast<FollowingCore*>(core_.get())) {}

  void Apply(const Event& event, Instant now, std::vector<Action>& actions) override;
  std::optional<Instant> NextDeadline() const override { return core_->NextDeadline(); }
  CoreView View(Instant now) const override { return core_->View(now); }
  std::optional<WaitView> WaitOf(RequestId request) const override { return core_->WaitOf(request); }
  MemoryWaits FindMemoryWaits(Instant now) const override { return core_->FindMemoryWaits(now); }
  std::optional<Tokens> UnseenOutput(RequestId request) const override { return core_->UnseenOutput(request); }

  std::optional<Forward> Follow(const FollowedRequest& followed, Instant now) override;
  void Withdraw(RequestId request, Instant now) override {
    if (following_ != nullptr) following_->Withdraw(request, now);
  }
  bool Forecasts() const override { return following_ != nullptr && following_->Forecasts(); }

 private:
  const std::unique_ptr<AdmissionCore> core_;
  const Changes changes_;
  FollowingCore* const following_;  // core_; null where it follows nobody.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_POLICIES_VARIANTS_INPUT_FILTER_H_
