#include "config/sleep_warnings.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "config/text/units_text.h"
#include "config/values/capacity.h"

namespace penstock {
namespace {

// The shortest expected wake of each model whose servers all sleep.
std::map<std::string, Duration> WakesByModel(const Config& config) {
  std::map<std::string, Duration> wakes;
  std::set<std::string> awake;
  for (const ReplicaConfig& replica : config.replicas) {
    if (replica.role == ReplicaRole::kPrefill) continue;
    if (replica.model.empty() && !replica.sleep) return {};
    const ModelConfig* model = FindModel(config, replica.model);
    std::string name = replica.model.empty() ? replica.id : replica.model;
    if (model != nullptr) name = model->name;
    if (!replica.sleep) {
      awake.insert(name);
      continue;
    }
    const auto [known, fresh] = wakes.try_emplace(name, replica.sleep->wake);
    known->second = std::min(known->second, replica.sleep->wake);
  }
  for (const std::string& name : awake) wakes.erase(name);
  return wakes;
}

// True: a request for the model may have the class without naming it.
bool HasClass(const Config& config, const ModelConfig* model, const ClassConfig& each) {
  const bool of_model = model != nullptr && !model->service_class.empty();
  if (of_model ? model->service_class == each.name : each.is_default) return true;
  return std::any_of(config.tenants.begin(), config.tenants.end(),
                     [&](const TenantConfig& tenant) { return tenant.service_class == each.name; });
}

// True: the command does nothing.
bool DoesNothing(absl::string_view command) {
  const absl::string_view text = absl::StripAsciiWhitespace(command);
  return text == "true" || text == ":" || text == "/bin/true" || text == "exit 0";
}

void WarnOfIdleStops(const Config& config, std::vector<std::string>& warnings) {
  for (const ReplicaConfig& replica : config.replicas) {
    if (!replica.sleep || replica.sleep->by != SleepBy::kCommand || !DoesNothing(replica.sleep->stop)) continue;
    warnings.push_back(absl::StrCat("replicas: ", replica.id,
                                    ": sleep: stop does nothing: it ends only an engine that ",
                                    "this router started, and not one from before a restart of the router"));
  }
}

}  // namespace

std::vector<std::string> SleepWarnings(const Config& config) {
  std::vector<std::string> warnings;
  if (!absl::StartsWith(config.policy, "penstock")) {
    const bool sleeps = absl::c_any_of(config.replicas, [](const ReplicaConfig& replica) { return replica.sleep; });
    const bool wakes = absl::StartsWith(config.policy, "informed") || absl::StartsWith(config.policy, "present_use");
    if (sleeps && !wakes) {
      warnings.push_back(absl::StrCat("policy: ", config.policy, " wakes no replica, and some have `sleep`"));
    }
    return warnings;
  }
  for (const auto& [name, wake] : WakesByModel(config)) {
    for (const ClassConfig& each : config.classes) {
      if (each.queue > wake || !HasClass(config, FindModel(config, name), each)) continue;
      warnings.push_back(absl::StrCat("classes: ", each.name, ": queue of ", FormatDuration(each.queue),
                                      " is not longer than the wake of ", name, ", ", FormatDuration(wake),
                                      ": requests that find it asleep are refused"));
    }
  }
  WarnOfIdleStops(config, warnings);
  return warnings;
}

}  // namespace penstock
