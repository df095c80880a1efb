// The relation of a decision of the shadow to reality: one table for metrics, pages and texts.
#ifndef PENSTOCK_ROUTER_SHADOW_SHADOW_VERDICT_H_
#define PENSTOCK_ROUTER_SHADOW_SHADOW_VERDICT_H_

#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace penstock {

enum class ShadowVerdict : uint8_t {
  kSame,          // Both sent it to the same replica.
  kOtherReplica,  // Both sent it, to different replicas.
  kEarlier,       // It waited longer than with the shadow.
  kWaits,         // It was sent, and would still have waited.
  kRefuses,       // It was sent, and the shadow would have refused it.
  kBothRefuse,
  kServes,   // It was refused, and the shadow had sent it.
  kWaitsOn,  // It was refused, and would still have waited.
};
inline constexpr size_t kShadowVerdicts = 8;

struct ShadowVerdictTraits {
  absl::string_view label;  // In metrics and JSON.
  absl::string_view text;   // A sentence for a person.
  bool differs = true;
};

inline constexpr std::array<ShadowVerdictTraits, kShadowVerdicts> kShadowVerdictTraits = {{
    {"same", "Both sent the request to the same replica.", false},
    {"other_replica", "The shadow would have sent it to another replica.", true},
    {"earlier", "The shadow would have sent it earlier.", true},
    {"waits", "The shadow would have let it wait longer.", true},
    {"refuses", "The shadow would have refused it.", true},
    {"both_refuse", "Both refused the request.", false},
    {"serves", "The shadow would have served a request that was refused.", true},
    {"waits_on", "The shadow would have let a request wait that was refused.", true},
}};

constexpr const ShadowVerdictTraits& TraitsOf(ShadowVerdict verdict) {
  return kShadowVerdictTraits[static_cast<size_t>(verdict)];
}

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SHADOW_SHADOW_VERDICT_H_
