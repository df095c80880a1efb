#include "router/policies/gates/mc_sf.h"

#include <algorithm>
#include <vector>

#include "router/policies/kit/rival_core.h"

namespace penstock {
namespace {

constexpr size_t kWindow = 1000;

}  // namespace

double McSf::Expect(const RequestArrived& request) const {
  if (request.embedding) return 0;
  double expected = static_cast<double>(kAssumedOutput);
  if (const auto found = histories_.find(request.model); found != histories_.end()) {
    expected = options_.median ? found->second.Median() : found->second.Mean();
  }
  return request.max_output > Tokens(0) ? std::min(expected, request.max_output.AsDouble()) : expected;
}

void McSf::Learn(const RequestArrived& request, int64_t output) {
  histories_.try_emplace(request.model, kWindow).first->second.Observe(output);
}

double McSf::NeedWith(PoolId pool, const Footprint& footprint, const RequestArrived& request) {
  std::vector<Growing> requests;
  requests.reserve(members(pool).size() + 1);
  for (const auto& [id, member] : members(pool)) {
    const Live& live = *books().Find(id);
    const double generated = static_cast<double>(books().Generated(live));
    requests.push_back(GrowingOf(member.footprint, live.request, generated, member.expected));
  }
  requests.push_back(GrowingOf(footprint, request, 0, Expect(request)));
  return FuturePeak(std::move(requests));
}

PolicyDeclaration McSfPolicy() {
  const McSf::Options defaults;
  PolicyDeclaration policy;
  policy.name = "mc_sf";
  policy.origin = PolicyOrigin::kStudied;
  policy.settings = {
      WordSetting("length", {"mean", "median"}, "the statistic of a model's recent outputs that predicts"),
      NumberSetting("protect", defaults.protect, 0, 0.9, "share of the pool left free")};
  policy.alternatives = {"length=median", "protect=0.1", "protect=0.2", "length=median,protect=0.1"};
  policy.text = {"MC-SF (arXiv 2502.07115)",
                 "the shortest prediction first while memory fits at every future completion; the least full replica",
                 "its own requests and their progress; the output lengths of finished requests",
                 "late (added); queue time", "The replicas of an elastic pool are one pool."};
  policy.make = [](const PolicyChoice& choice, uint64_t) {
    return MakeRival<McSf>(McSf::Options{choice["length"] != 0, choice["protect"]});
  };
  return policy;
}

}  // namespace penstock
