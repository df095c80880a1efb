#include "router/core/placement/newcomer.h"

#include <algorithm>

namespace penstock {
namespace {

// Contributions are rounded to float.
constexpr double kFloat = 1 - 1e-6;

// The most tokens that it generates in all, as far as it is not the context that ends it.
double OutputCapOf(const RequestState& request) {
  constexpr double kNoCap = 1e9;
  if (request.arrived.embedding) return 0;
  double cap = request.arrived.max_output > Tokens(0) ? request.arrived.max_output.AsDouble() : kNoCap;
  if (request.output.known_in_growth) cap = std::min(cap, request.output.known->AsDouble());
  return cap;
}

}  // namespace

void Newcomer::Begin(const RequestState& request, const Servers& servers, Floors& floors, Instant now) {
  elsewhere_ = servers.DeepestHolders(request, holders_).most;
  std::sort(holders_.begin(), holders_.end(),
            [](const Servers::Holder& a, const Servers::Holder& b) { return a.server < b.server; });
  returns_ = request.Returns();
  prompt_ = request.Prompt().AsDouble();
  pace_ = floors.MostPace(request.arrived.model, now);
  FindChances(request);
  arrived_ = request.arrived.prompt.AsDouble();
  kinds_ = &floors.kinds();
  amounts_.clear();
  for (const Footprint& footprint : *kinds_) amounts_.push_back(AmountOf(footprint, elsewhere_));
}

void Newcomer::FindChances(const RequestState& request) {
  for (int i = 0; i < kHorizons; ++i) context_[i] = prompt_ + pace_ * HorizonSeconds()[i];
  // At present it is there whatever its context.
  context_[0] = 0;
  alive_.fill(0);
  alive_[0] = 1;
  // A request that had begun elsewhere still runs, given its tokens so far.
  if (request.kept > Tokens(0)) return;
  const double cap = OutputCapOf(request);
  const SurvivalCurve* curve = request.output.known_in_growth ? nullptr : request.output.curve.get();
  for (int i = 1; i < kHorizons; ++i) {
    const double generated = pace_ * HorizonSeconds()[i];
    if (generated >= cap) return;
    alive_[i] = curve == nullptr ? 1 : std::min(1.0, curve->At(generated));
  }
}

bool Newcomer::IsHolder(size_t server) const {
  const auto found =
      std::lower_bound(holders_.begin(), holders_.end(), server,
                       [](const Servers::Holder& holder, size_t wanted) { return holder.server < wanted; });
  return found != holders_.end() && found->server == server;
}

double Newcomer::AmountOf(const Footprint& footprint, Tokens held) const {
  return std::max(0.0, footprint.Expected(arrived_) * kFloat - footprint.Shared(held.AsDouble()));
}

double Newcomer::Share(int horizon, double per_unit, double context, double amount) const {
  // Past its context a request is gone.
  if (horizon < 0 || context_[horizon] >= context) return 0;
  return alive_[horizon] * amount * per_unit;
}

}  // namespace penstock
