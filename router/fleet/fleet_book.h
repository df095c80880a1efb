// Configuration and discovery, turned into the fleet that the decision core knows, and the names around it.
//
// The data-parallel ranks of an engine are replicas of their own, with the name of the replica and the rank (id/0).
//
// Ids are positions. A replica that a new configuration drops stays as a tombstone (ReplicaSpec::removed), a model or a
// class as it was. So an id that crosses a reload still names the same thing. A replica keeps its id while its
// configured id and url stay equal. A tombstone that nobody names any more becomes vacant, and with it the pools and
// the GPUs that only it had (router/core/contract/vacancy.h). So do models and classes. Vacant places are given again
// once everybody has seen them so: Vacate, publish, Offer. A new class never gets a place above one that is more
// urgent. Usage: construct, SetDiscovery for each engine that answers, Update on a reload. After each call, fleet() is
// a complete value for a FleetChanged event.
//
// Memory of a replica, first that is known: configured kv_memory or kv_tokens, the engine's own figure, the default of
// a simulated replica. A replica has one static pool per GPU, or it shares the elastic pool of the GPU. A static pool
// has the replica's name (and the GPU's, where there are several); an elastic pool has the GPU's name. A replica with
// `elastic` has both: the static one is its limit. Pools are in bytes where the model's shape is known, else in tokens.
// Context: the smallest of the configuration's and the engine's value; the model's own only where the engine gave none.
//
// The book knows 20,000 models that engines name at a time, and 2,000 of them that one engine was the first to name. A
// name has its room until it is vacant. The book knows every configured model.
//
// Not thread-safe; one owner (the control loop). Readers on other threads get copies. Update costs O(replicas x
// models). SetDiscovery costs O(replicas + models of the replica), unless names of other replicas depend on an earlier
// answer of its engine. Lookups by name or id are O(1).
#ifndef PENSTOCK_ROUTER_FLEET_FLEET_BOOK_H_
#define PENSTOCK_ROUTER_FLEET_FLEET_BOOK_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "backends/engines/contract/discovery.h"
#include "base/ids.h"
#include "config/config.h"
#include "router/core/contract/fleet.h"
#include "router/fleet/fleet_entry.h"
#include "router/fleet/fleet_models.h"
#include "router/fleet/free_places.h"

namespace penstock {

// Replicas without a configured model that have not named their models yet.
struct UnheardReplicas {
  bool any = false;
  bool decisive = false;  // An unknown name may be theirs: one of them was not asked yet, or no model is known at all.
};

class FleetBook {
 public:
  explicit FleetBook(const Config& config);

  // Takes a new configuration. Replicas that left become tombstones and lose their discovery; one that comes back under
  // its id and url gets its old id.
  void Update(const Config& config);
  // Stores the answer of a replica's engine in place of its earlier answer. Null: it was asked and gave none, which
  // changes no earlier answer. False: nothing changed.
  bool SetDiscovery(ReplicaId replica, std::optional<Discovery> discovery);

  const Fleet& fleet() const { return fleet_; }
  const Config& config() const { return config_; }

  // Makes these places vacant as far as the book does not name them: nothing else does any more. An engine leaves with
  // all of its ranks or stays. Names that found no room before are entered. Returns what became vacant.
  Vacated Vacate(const QuietPlaces& quiet);
  // Everybody has seen these places vacant.
  void Offer(const Vacated& places);

  // Finds a replica that is not removed.
  std::optional<ReplicaId> ReplicaByName(absl::string_view name) const;
  // The replica's configuration, its last one when removed.
  const ReplicaConfig& replica_config(ReplicaId replica) const { return entries_[replica.value()].config; }
  // With the last discovery of its engine.
  const KnownReplica& known(ReplicaId replica) const { return entries_[replica.value()]; }
  bool removed(ReplicaId replica) const { return entries_[replica.value()].removed; }
  // Its place among the data-parallel ranks of its engine.
  const FleetEntry& entry(ReplicaId replica) const { return entries_[replica.value()]; }
  // The replicas of the engine that are not removed; `first` stands for it.
  std::vector<ReplicaId> RanksOf(ReplicaId first) const;

  // By canonical name, configured alias, or a name that an engine serves (adapters included).
  std::optional<ModelId> ModelByName(absl::string_view name) const;
  const UnheardReplicas& unheard() const { return unheard_; }
  // The value of a body's `model` for this engine.
  std::string EngineModelName(ReplicaId replica, ModelId model) const;
  // The largest context of the replicas that serve the model; 0: unknown.
  Tokens MaxContext(ModelId model) const { return models_.ContextOf(model); }
  const FleetModels& models() const { return models_; }
  // Canonical names of models that some replica serves and their aliases, for /v1/models, in the order of ids.
  std::vector<std::string> ModelNames() const;
  ModelWords WordsOf(ModelId model) const { return models_.WordsOf(fleet_.models[model.value()].name); }

  std::optional<ClassId> ClassByName(absl::string_view name) const;
  ClassId default_class() const { return default_class_; }

 private:
  using Entry = FleetEntry;

  void EnterReplica(const ReplicaConfig& replica);
  void Rebuild();
  // The same where only this replica changed. False: others depend on it.
  bool RebuildOne(size_t position);

  Config config_;
  Fleet fleet_;
  std::vector<Entry> entries_;  // One per fleet_.replicas.
  FreePlaces free_;
  FleetModels models_;
  UnheardReplicas unheard_;
  ClassId default_class_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_FLEET_FLEET_BOOK_H_
