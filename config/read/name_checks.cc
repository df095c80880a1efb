#include <algorithm>
#include <map>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/read/fleet_checks.h"
#include "config/text/addresses.h"
#include "config/text/findings.h"
#include "config/values/capacity.h"
#include "config/values/key_digest.h"
#include "config/values/label_words.h"

namespace penstock {
namespace {

// Remembers the first user of each name.
class Names {
 public:
  // The path of the first user, or nothing when `name` is new.
  std::optional<std::string> Claim(const std::string& name, const std::string& owner) {
    const auto [entry, added] = owners_.try_emplace(name, owner);
    if (added) return std::nullopt;
    return entry->second;
  }
  std::optional<std::string> Find(const std::string& name) const {
    const auto entry = owners_.find(name);
    if (entry == owners_.end()) return std::nullopt;
    return entry->second;
  }

 private:
  std::map<std::string, std::string> owners_;
};

// Such replicas may share one server: it loads and unloads each of its models by itself.
bool NamesItsPart(const ReplicaConfig& replica) {
  return replica.sleep && replica.sleep->by == SleepBy::kAuto && !replica.model.empty();
}

// The engines of the replicas before this one, by address.
class Engines {
 public:
  // The path of the replica that has the engine already, or nothing.
  std::optional<std::string> Claim(const std::string& url, const ReplicaConfig& replica, const std::string& owner) {
    const bool part = NamesItsPart(replica);
    const std::optional<std::string> first = urls_.Claim(absl::StrCat(url, part ? " in parts" : ""), owner);
    const std::optional<std::string> other = urls_.Find(absl::StrCat(url, part ? "" : " in parts"));
    if (other || !part) return other ? other : first;
    return urls_.Claim(absl::StrCat(url, " model ", replica.model), owner);
  }

 private:
  Names urls_;
};

// The key must name a class of the configuration, unless it is empty.
void CheckClass(const Draft& draft, const MapReader& map, const char* key, const std::string& name) {
  if (name.empty()) return;
  std::vector<absl::string_view> classes;
  classes.reserve(draft.config.classes.size());
  for (const ClassConfig& each : draft.config.classes) classes.push_back(each.name);
  if (std::find(classes.begin(), classes.end(), absl::string_view(name)) != classes.end()) return;
  map.Fail(key,
           absl::StrCat("unknown class \"", name, "\"", map.Suggest(name, classes), ", known: ", KnownNames(classes)));
}

bool SameModel(const Config& config, const std::string& a, const std::string& b) {
  const ModelConfig* model = FindModel(config, a);
  return a == b || (model != nullptr && model == FindModel(config, b));
}

}  // namespace

void CheckGpuIds(const Draft& draft) {
  Names ids;
  for (size_t i = 0; i < draft.config.gpus.size(); ++i) {
    const std::string& id = draft.config.gpus[i].id;
    if (id.empty()) continue;
    if (const auto first = ids.Claim(id, absl::StrCat("gpus[", i, "]"))) {
      draft.At("gpus", i).Fail("id", absl::StrCat("duplicate id \"", id, "\", first used by ", *first));
    }
  }
}

void CheckModelNames(const Draft& draft) {
  Names names;
  for (size_t i = 0; i < draft.config.models.size(); ++i) {
    const ModelConfig& model = draft.config.models[i];
    const std::string owner = absl::StrCat("models[", i, "]");
    if (IsLabelWord(model.name)) {
      draft.At("models", i).Fail("name", absl::StrCat("\"", model.name, "\" ", kIsLabelWord));
    }
    if (!model.name.empty()) {
      if (const auto first = names.Claim(model.name, owner)) {
        draft.At("models", i).Fail("name", absl::StrCat("\"", model.name, "\" is already a name or alias of ", *first));
      }
    }
    for (size_t j = 0; j < model.aliases.size(); ++j) {
      if (const auto first = names.Claim(model.aliases[j], owner)) {
        draft.At("models", i)
            .FailAt("aliases", j, absl::StrCat("\"", model.aliases[j], "\" is already a name or alias of ", *first));
      }
    }
  }
}

void CheckAdapters(const Draft& draft) {
  const Config& config = draft.config;
  Names names;
  for (size_t i = 0; i < config.adapters.size(); ++i) {
    const AdapterConfig& adapter = config.adapters[i];
    const MapReader& map = draft.At("adapters", i);
    if (IsLabelWord(adapter.name)) map.Fail("name", absl::StrCat("\"", adapter.name, "\" ", kIsLabelWord));
    if (const auto first = names.Claim(adapter.name, absl::StrCat("adapters[", i, "]"))) {
      map.Fail("name", absl::StrCat("\"", adapter.name, "\" is already the name of ", *first));
    }
    if (FindModel(config, adapter.name) != nullptr || adapter.name == adapter.model) {
      map.Fail("name", absl::StrCat("\"", adapter.name, "\" is a model already"));
    }
    const bool served = std::any_of(config.replicas.begin(), config.replicas.end(), [&](const ReplicaConfig& replica) {
      return replica.model.empty() || SameModel(config, replica.model, adapter.model);
    });
    if (!served) map.Fail("model", absl::StrCat("no replica has the model \"", adapter.model, "\""));
    if (adapter.timeout <= adapter.load) map.Fail("timeout", "must be longer than load");
  }
}

void CheckReplicaNames(const Draft& draft) {
  Names ids;
  Engines engines;
  for (size_t i = 0; i < draft.config.replicas.size(); ++i) {
    const ReplicaConfig& replica = draft.config.replicas[i];
    const MapReader& map = draft.At("replicas", i);
    const std::string owner = absl::StrCat("replicas[", i, "]");
    const absl::StatusOr<EngineUrl> url = ParseEngineUrl(replica.url);
    bool same_url = false;
    if (url.ok()) {
      if (const auto first = engines.Claim(url->Key(), replica, owner)) {
        same_url = true;
        map.Fail("url", absl::StrCat("duplicate url, already the engine of ", *first));
      }
    }
    if (IsLabelWord(replica.id)) map.Fail("id", absl::StrCat("\"", replica.id, "\" ", kIsLabelWord));
    if (replica.id.empty()) {
      if (!map.Has("url") && map.Has("simulated")) map.Fail("id", "is required without a url");
    } else if (const auto first = ids.Claim(replica.id, owner); first && !(same_url && !map.Has("id"))) {
      map.Fail(map.Has("id") ? "id" : "url", absl::StrCat("duplicate id \"", replica.id, "\", first used by ", *first));
    }
  }
}

void CheckModelClasses(const Draft& draft) {
  for (size_t i = 0; i < draft.config.models.size(); ++i) {
    CheckClass(draft, draft.At("models", i), "class", draft.config.models[i].service_class);
  }
}

void CheckTenants(const Draft& draft) {
  const Config& config = draft.config;
  Names names;
  Names keys;
  for (size_t i = 0; i < draft.config.tenants.size(); ++i) {
    const TenantConfig& tenant = config.tenants[i];
    const MapReader& map = draft.At("tenants", i);
    const std::string owner = absl::StrCat("tenants[", i, "]");
    if (IsLabelWord(tenant.name)) map.Fail("name", absl::StrCat("\"", tenant.name, "\" ", kIsLabelWord));
    if (!tenant.name.empty()) {
      if (const auto first = names.Claim(tenant.name, owner)) {
        map.Fail("name", absl::StrCat("duplicate name \"", tenant.name, "\", first used by ", *first));
      }
    }
    const std::string hidden = KeyDigest(kHiddenSecret);
    for (size_t j = 0; j < tenant.keys.size(); ++j) {
      // The printed configuration hides every key behind the same stars.
      if (tenant.keys[j] == hidden) continue;
      if (const auto first = keys.Claim(tenant.keys[j], owner)) {
        map.FailAt("keys", j, absl::StrCat("the same key is already one of ", *first));
      }
    }
    CheckClass(draft, map, "class", tenant.service_class);
    CheckClass(draft, map, "max_class", tenant.max_class);
  }
}

}  // namespace penstock
