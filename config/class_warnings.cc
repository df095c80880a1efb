#include "config/class_warnings.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "config/text/units_text.h"
#include "config/values/policy_pair.h"

namespace penstock {
namespace {

// Shares are written in decimals.
constexpr double kRounding = 1e-9;

void WarnClass(const Config& config, const ClassConfig& each, std::vector<std::string>& warnings) {
  if (!each.parking) return;
  const std::string place = absl::StrCat("classes: ", each.name, ": parking has no effect ");
  if (!each.refuse_late) warnings.push_back(place + "without refuse_late: such a class makes no room for others");
  if (!absl::StartsWith(config.policy, "penstock")) {
    warnings.push_back(
        absl::StrCat(place, "with the policy ", PolicyPairOf(config.policy).decide, ", which parks no stream"));
  }
}

// The position of a class; nullopt: the name is empty.
std::optional<size_t> PositionOf(const Config& config, const std::string& name) {
  for (size_t i = 0; i < config.classes.size(); ++i) {
    if (config.classes[i].name == name) return i;
  }
  return std::nullopt;
}

void WarnClassBounds(const Config& config, std::vector<std::string>& warnings) {
  size_t first = config.classes.size();  // The most urgent class that somebody may use.
  for (const TenantConfig& tenant : config.tenants) {
    const std::optional<size_t> most = PositionOf(config, tenant.max_class);
    first = std::min(first, most.value_or(0));
    const std::optional<size_t> given = PositionOf(config, tenant.service_class);
    if (!most || !given || *given >= *most) continue;
    warnings.push_back(absl::StrCat("tenants: ", tenant.name, ": class ", tenant.service_class,
                                    " is above its max_class ", tenant.max_class, ", so its requests have that one"));
  }
  if (config.tenants.empty()) return;
  for (size_t i = 0; i < first; ++i) {
    const ClassConfig& each = config.classes[i];
    const bool chosen =
        each.is_default || std::any_of(config.models.begin(), config.models.end(),
                                       [&](const auto& model) { return model.service_class == each.name; });
    // A built-in class that nothing names asks for nothing.
    if (!chosen && !each.refuse_late && !each.parking) continue;
    warnings.push_back(
        absl::StrCat("classes: ", each.name, ": nobody may use it: every tenant has a max_class below it"));
  }
}

void WarnPromotions(const ClassConfig& each, std::vector<std::string>& warnings) {
  if (!each.promote_after || *each.promote_after <= each.queue) return;
  warnings.push_back(absl::StrCat("classes: ", each.name, ": promote_after of ", FormatDuration(*each.promote_after),
                                  " is longer than the queue of ", FormatDuration(each.queue),
                                  ": no request of it is promoted"));
}

// The most urgent class has none before it, so it needs no share.
void WarnShares(const Config& config, std::vector<std::string>& warnings) {
  double sum = 0;
  for (size_t i = 1; i < config.classes.size(); ++i) sum += config.classes[i].share;
  if (sum <= 1 + kRounding) return;
  warnings.push_back(absl::StrFormat(
      "classes: the shares below the most urgent class add up to %.4g, and more than 1 cannot be met", sum));
}

}  // namespace

std::vector<std::string> ClassWarnings(const Config& config) {
  std::vector<std::string> warnings;
  for (const ClassConfig& each : config.classes) {
    WarnClass(config, each, warnings);
    WarnPromotions(each, warnings);
  }
  WarnShares(config, warnings);
  WarnClassBounds(config, warnings);
  return warnings;
}

}  // namespace penstock
