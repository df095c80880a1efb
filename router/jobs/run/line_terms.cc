#include "router/jobs/run/line_terms.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "config/values/builtin_classes.h"
#include "config/values/policy_pair.h"

namespace penstock::jobs {
namespace {

// Lines per replica under a policy that cannot make them give way.
constexpr int64_t kLinesPerReplica = 8;

}  // namespace

int64_t MostLines(const Config& config) {
  const int64_t most = config.state.max_running_lines;
  if (absl::StartsWith(PolicyPairOf(config.policy).decide, "penstock")) return most;
  return std::min(most, kLinesPerReplica * std::max<int64_t>(1, static_cast<int64_t>(config.replicas.size())));
}

std::string ClassOfJobs(const Config& config) {
  const bool known = std::any_of(config.classes.begin(), config.classes.end(),
                                 [](const ClassConfig& each) { return each.name == kJobsClass; });
  return known ? std::string(kJobsClass) : config.classes.back().name;
}

const TenantConfig* FindTenant(const Config& config, TenantId id) {
  const auto found = std::find_if(config.tenants.begin(), config.tenants.end(),
                                  [id](const TenantConfig& each) { return TenantIdOf(each.name) == id; });
  return found == config.tenants.end() ? nullptr : &*found;
}

bool NeedsKey(const Config& config) {
  return std::any_of(config.tenants.begin(), config.tenants.end(),
                     [](const TenantConfig& each) { return !each.keys.empty(); });
}

Caller CallerOf(const Config& config, TenantId id) {
  const TenantConfig* tenant = FindTenant(config, id);
  return tenant == nullptr ? Caller{id, "", "", ""}
                           : Caller{id, tenant->name, tenant->service_class, tenant->max_class};
}

}  // namespace penstock::jobs
