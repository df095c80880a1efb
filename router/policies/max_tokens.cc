#include "router/policies/max_tokens.h"

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
    reserved += Reservation(member.footprint, FindLive(id)->request, member.expected);
  }
  return reserved;
}

}  // namespace penstock
