#include "router/core/shares/share_plan.h"

#include <algorithm>
#include <cmath>

namespace penstock {
namespace {

// An engine that would fill less than this part of its limit needs no more.
constexpr double kUseful = 0.8;
// One pressure is far above another from this factor on. Prism moves memory at the same one.
constexpr double kGap = 1.5;
// A limit moves by at least this part of the memory.
constexpr double kLeastStep = 0.02;
// Each engine keeps this part of an equal share, so that its first request after a pause needs no order.
constexpr double kLeastPart = 0.1;

// The floor with the least part; not above the limit that it has, where that is lower than the least part.
double FloorOf(const ShareClaim& claim, double memory, size_t engines) {
  return std::max(claim.floor, kLeastPart * memory / static_cast<double>(engines));
}

}  // namespace

bool IsUneven(const std::vector<ShareClaim>& claims, double memory) {
  double limits = 0;
  double most = 0;
  double least = HUGE_VAL;
  for (const ShareClaim& claim : claims) {
    limits += claim.limit;
    if (claim.fixed) continue;
    const double pressure = claim.want / std::max(1.0, claim.limit);
    most = std::max(most, pressure);
    least = std::min(least, pressure);
  }
  const bool some_is_free = memory - limits >= kLeastStep * memory;
  return limits > memory || (most >= kUseful && (some_is_free || most >= kGap * least));
}

std::vector<double> SplitMemory(const std::vector<ShareClaim>& claims, double memory) {
  double rest = memory;
  double wanted = 0;
  size_t moving = 0;
  for (const ShareClaim& claim : claims) {
    const double floor = claim.fixed ? claim.limit : FloorOf(claim, memory, claims.size());
    rest -= floor;
    if (claim.fixed) continue;
    wanted += std::max(0.0, claim.want - floor);
    ++moving;
  }
  rest = std::max(0.0, rest);
  const double part = wanted > rest ? rest / wanted : 1;
  const double spare = moving == 0 ? 0 : std::max(0.0, rest - wanted) / static_cast<double>(moving);
  std::vector<double> limits;
  for (const ShareClaim& claim : claims) {
    const double floor = FloorOf(claim, memory, claims.size());
    limits.push_back(claim.fixed ? claim.limit : floor + part * std::max(0.0, claim.want - floor) + spare);
  }
  return limits;
}

bool IsWorthMoving(const std::vector<ShareClaim>& claims, const std::vector<double>& limits, double memory) {
  double most = 0;
  for (size_t i = 0; i < claims.size(); ++i) most = std::max(most, std::abs(limits[i] - claims[i].limit));
  return most >= kLeastStep * memory;
}

}  // namespace penstock
