// The part of a prompt that the hint of its session adds to what its block hashes tell.
//
// A hint counts at one replica only, the last one of its session, and behind the hashed blocks. Where the engine lacks
// one of these, it lacks what follows too. Scores use it, guards never. Pure; O(log blocks) at that replica.
#ifndef PENSTOCK_ROUTER_CORE_PLACEMENT_HINTS_H_
#define PENSTOCK_ROUTER_CORE_PLACEMENT_HINTS_H_

#include "router/core/books/replica_state.h"

namespace penstock {

inline bool IsHinted(const RequestState& request, size_t replica) {
  return request.hint.replica == ReplicaId(static_cast<uint32_t>(replica));
}

// The tokens that the hint could tell anything of, at its replica.
inline Tokens HintedAtMost(const RequestState& request) {
  const Tokens hashed = request.PrefixTokens(static_cast<int64_t>(request.arrived.prefix.size()));
  return std::max(Tokens(0), std::min(request.Prompt(), request.hint.context) - hashed);
}

// The tokens that a replica is taken to have by the hint alone.
inline Tokens HintedTokens(const RequestState& request, size_t position, const ReplicaState& replica) {
  if (!IsHinted(request, position) || replica.spec().prefix_cache <= Tokens(0)) return Tokens(0);
  const auto blocks = static_cast<int64_t>(request.arrived.prefix.size());
  if (blocks > 0 && replica.HopeFor(request).blocks < blocks) return Tokens(0);
  return HintedAtMost(request);
}

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_PLACEMENT_HINTS_H_
