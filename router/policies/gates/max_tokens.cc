#include "router/policies/gates/max_tokens.h"

#include "router/policies/kit/rival_core.h"

namespace penstock {

double MaxTokens::Expect(const RequestArrived& request) const {
  if (request.embedding) return 0;
  return request.max_output > Tokens(0) ? request.max_output.AsDouble() : options_.limit;
}

double MaxTokens::Reservation(const Footprint& footprint, const RequestArrived& request, double output) const {
  const double prompt = footprint.Expected(request.prompt.AsDouble());
  return prompt + (footprint.Expected(request.prompt.AsDouble() + output) - prompt) * request.sequences;
}

double MaxTokens::NeedWith(PoolId pool, const Footprint& footprint, const RequestArrived& request) {
  double reserved = Reservation(footprint, request, Expect(request));
  for (const auto& [id, member] : members(pool)) {
    reserved += Reservation(member.footprint, books().Find(id)->request, member.expected);
  }
  return reserved;
}

PolicyDeclaration MaxTokensPolicy() {
  const MaxTokens::Options defaults;
  PolicyDeclaration policy;
  policy.name = "max_tokens";
  policy.origin = PolicyOrigin::kStudied;
  policy.settings = {
      WholeSetting("limit", defaults.limit, 1, 1e6, "output tokens reserved for a request without a limit"),
      NumberSetting("share", defaults.share, 0.01, 1, "share of the pool that may be reserved")};
  policy.alternatives = {"limit=512", "limit=256", "limit=2048"};
  policy.text = {"Orca, TensorRT-LLM GUARANTEED_NO_EVICT, TGI",
                 "prompt and limit of all running requests fit; the least full replica",
                 "its own requests and their limits", "late (added); queue time",
                 "The replicas of an elastic pool are one pool."};
  policy.make = [](const PolicyChoice& choice, uint64_t) {
    return MakeRival<MaxTokens>(MaxTokens::Options{choice["limit"], choice["share"]});
  };
  return policy;
}

}  // namespace penstock
