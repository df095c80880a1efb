#include "bench/simulation/arrivals.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace penstock::bench {
namespace {

// FNV-1a: the same on every machine, so that equal seeds give equal runs everywhere.
uint64_t HashOf(const std::string& name) {
  if (name.empty()) return 0;
  uint64_t hash = 0xCBF29CE484222325ULL;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return hash;
}

}  // namespace

absl::StatusOr<std::vector<SimulatedArrival>> ArrivalsOf(const Trace& trace, const ModelLookup& model_of,
                                                         const ClassLookup& class_of, const TenantLookup& tenant_of,
                                                         const StorageLookup& storage_of) {
  std::vector<SimulatedArrival> arrivals;
  arrivals.reserve(trace.requests.size());
  for (const TraceRequest& request : trace.requests) {
    const std::optional<ModelId> model = model_of(request.model);
    if (!model) {
      return absl::InvalidArgumentError(
          absl::StrCat(trace.source, ":", request.line, ": no replica serves the model \"", request.model,
                       "\"; expected a model of the fleet, or a name in its trace: {models: ...}"));
    }
    const std::optional<ClassId> service_class = class_of(request);
    if (!service_class) {
      return absl::InvalidArgumentError(absl::StrCat(trace.source, ":", request.line, ": no class is called \"",
                                                     request.service_class, "\"; expected a name under classes"));
    }
    SimulatedArrival& arrival = arrivals.emplace_back();
    arrival.at = request.arrival;
    arrival.model = *model;
    arrival.service_class = *service_class;
    arrival.tenant = tenant_of(request.tenant).value_or(TenantId(HashOf(request.tenant)));
    arrival.tenant_name = request.tenant;
    if (storage_of) arrival.storage = storage_of(request.tenant);
    arrival.session = HashOf(request.session);
    arrival.shape = HashOf(request.shape);
    arrival.prompt = request.prompt;
    arrival.max_output = request.max_output;
    arrival.vanishes = request.gone_after;
    const bool limited = request.max_output > Tokens(0) && request.max_output < request.output;
    arrival.output = limited ? request.max_output : request.output;
    const auto full = static_cast<size_t>(request.prompt.value() / kPrefixBlock.value());
    const size_t named = std::min(full, request.prefix_hashes.size());
    arrival.prefix.assign(request.prefix_hashes.begin(),
                          request.prefix_hashes.begin() + static_cast<std::ptrdiff_t>(named));
  }
  return arrivals;
}

void DropIdleTenants(const std::vector<SimulatedArrival>& arrivals, Fleet& fleet) {
  absl::flat_hash_set<TenantId> present;
  for (const SimulatedArrival& arrival : arrivals) present.insert(arrival.tenant);
  std::erase_if(fleet.tenants, [&present](const TenantSpec& tenant) { return !present.contains(tenant.id); });
}

}  // namespace penstock::bench
