#include "router/policies/gates/past_future.h"

#include <algorithm>
#include <vector>

#include "router/policies/kit/rival_core.h"

namespace penstock {
namespace {

constexpr size_t kSamples = 200;  // Draws per decision, over all lists.

double LimitOf(const RequestArrived& request) {
  if (request.embedding) return 0;
  return request.max_output > Tokens(0) ? request.max_output.AsDouble() : static_cast<double>(kAssumedOutput);
}

}  // namespace

LengthHistory& PastFuture::HistoryOf(ModelId model) {
  return histories_.try_emplace(model, options_.window).first->second;
}

void PastFuture::Learn(const RequestArrived& request, int64_t output) { HistoryOf(request.model).Observe(output); }

double PastFuture::NeedWith(PoolId pool, const Footprint& footprint, const RequestArrived& request) {
  const Members& running = members(pool);
  const size_t lists = std::min(options_.lists, kSamples / std::max<size_t>(1, running.size()) + 1);
  std::vector<std::vector<Growing>> drawn(lists);
  for (const auto& [id, member] : running) {
    const Live& live = *books().Find(id);
    const double generated = static_cast<double>(books().Generated(live));
    const LengthHistory& history = HistoryOf(live.request.model);
    for (std::vector<Growing>& list : drawn) {
      const double output = history.DrawAbove(generated, LimitOf(live.request), random_);
      list.push_back(GrowingOf(member.footprint, live.request, generated, output));
    }
  }
  double worst = 0;
  for (std::vector<Growing>& list : drawn) {
    double output = HistoryOf(request.model).Draw(random_);
    if (request.max_output > Tokens(0) || request.embedding) output = std::min(output, LimitOf(request));
    list.push_back(GrowingOf(footprint, request, 0, output));
    worst = std::max(worst, FuturePeak(std::move(list)));
  }
  return worst;
}

PolicyDeclaration PastFuturePolicy() {
  const PastFuture::Options defaults;
  PolicyDeclaration policy;
  policy.name = "past_future";
  policy.origin = PolicyOrigin::kStudied;
  policy.settings = {
      NumberSetting("reserved", defaults.reserved, 0, 0.9, "share of the pool left free"),
      WholeSetting("window", static_cast<double>(defaults.window), 20, 1e6, "output lengths remembered per model"),
      WholeSetting("lists", static_cast<double>(defaults.lists), 1, 64, "most samples of which the worst counts")};
  policy.alternatives = {"reserved=0.03", "reserved=0.1", "window=200"};
  policy.text = {"Past-Future (ASPLOS 2025), LightLLM",
                 "the future peak, with output lengths drawn from the past, fits; the least full replica",
                 "its own requests and their progress; the output lengths of finished requests",
                 "late (added); queue time", "The replicas of an elastic pool are one pool."};
  policy.make = [](const PolicyChoice& choice, uint64_t seed) {
    const PastFuture::Options options{choice["reserved"], static_cast<size_t>(choice["window"]),
                                      static_cast<size_t>(choice["lists"])};
    return MakeRival<PastFuture>(options, seed);
  };
  return policy;
}

}  // namespace penstock
