// The tenant and the class of a request, from the configured keys or header. Immutable after construction; thread-safe.
#ifndef PENSTOCK_ROUTER_FLEET_TENANTS_H_
#define PENSTOCK_ROUTER_FLEET_TENANTS_H_

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"
#include "base/ids.h"
#include "config/config.h"
#include "router/core/contract/fleet.h"
#include "router/fleet/key_table.h"
#include "router/openai/error/api_error.h"
#include "router/openai/request/header_rules.h"

namespace penstock {

struct Caller {
  TenantId tenant;            // Zero: anonymous.
  std::string name;           // Configured name; empty where none is configured.
  std::string service_class;  // Requests that name none have it; empty: that of the model.
  std::string max_class;      // Empty: any.
  bool limited = false;       // It has a limit of tokens or of requests.
  bool claimed = false;       // Nobody checks its key or its name: a client may make up another one for each request.
};

// The account that the memory of a caller's request counts for. `address` is that of the client's address.
inline uint64_t AccountOf(const Caller& caller, uint64_t address) {
  return caller.tenant == TenantId() || caller.claimed ? address : absl::HashOf(caller.tenant);
}

// The source of a tenant's name. A text of one source never has the id of a text of another: ids own files and answers.
enum class NamedBy { kConfiguration, kKey, kHeader };
// The name as an id; never zero. The same in every process: learned curves are stored under it.
TenantId TenantIdOf(absl::string_view text, NamedBy by = NamedBy::kConfiguration);
// The configured tenants as the core knows them.
std::vector<TenantSpec> TenantSpecsOf(const Config& config);
// The configured fairness; where it is left out, kLeads if the configuration names tenants.
FairnessSpec FairnessOf(const Config& config);

class TenantBook {
 public:
  explicit TenantBook(const Config& config);

  // The caller of a request, or 401 when tenants are configured and its key is none of theirs. The cost does not depend
  // on the number of tenants or keys.
  std::variant<Caller, ApiError> Identify(const HeaderList& headers) const;
  // Why the request may not see the data of the page; nullopt: it may.
  std::optional<ApiError> DenyAdmin(const HeaderList& headers, bool on_admin_listener) const;

 private:
  std::vector<Caller> tenants_;
  absl::flat_hash_map<std::string, size_t> names_;
  KeyTable<> keys_;
  KeyTable<> admin_keys_;
  std::string tenant_header_;
  bool needs_key_ = false;
  bool needs_admin_key_ = false;
};

// The names that decide the class of a request, the strongest first; an empty one decides nothing.
struct ClassNames {
  absl::string_view header;        // x-penstock-class.
  absl::string_view service_tier;  // A tier of OpenAI, or the name of a class. `auto` and unknown ones decide nothing.
  absl::string_view of_tenant;
  absl::string_view of_model;
};

// The class that the configuration gives to requests of a model, by the model's name or an alias; empty: none.
absl::string_view ClassOfModel(const Config& config, absl::string_view model);

// The class of a request, never above `max_class`. No class: the header has an unknown name. The list `classes` is in
// priority order, most urgent first.
struct ClassChoice {
  size_t position = 0;  // In these `classes`; a younger configuration may have others.
  std::string name;
  Duration ttft;
  Duration tpot;
};
std::variant<ClassChoice, ApiError> ChooseClass(const std::vector<ClassConfig>& classes, const ClassNames& names,
                                                absl::string_view max_class);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_FLEET_TENANTS_H_
