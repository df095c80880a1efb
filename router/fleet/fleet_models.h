// The models of the fleet by name: base models, their aliases, and the adapters that engines have or may load.
//
// An adapter is a model of its own with a base. An engine that lists one has it. The adapters of the configuration are
// offered too, where the engine can load them and the policy orders that. The id of a model that nothing names becomes
// vacant and is given again (free_places.h). Of the models that engines name, 20,000 are known at a time, and 2,000
// that one engine was the first to name. A name that is vacant counts no more. Lookups are O(1). One owner: FleetBook.
#ifndef PENSTOCK_ROUTER_FLEET_FLEET_MODELS_H_
#define PENSTOCK_ROUTER_FLEET_FLEET_MODELS_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "config/config.h"
#include "router/core/contract/fleet.h"
#include "router/fleet/fleet_entry.h"

namespace penstock {

// The words of engines and the configuration about a model. Empty: unknown.
struct ModelWords {
  std::string root;   // An adapter: its path.
  std::string owner;  // As its engine names it; of several engines, the last counts.
};

class FleetModels {
 public:
  // Forgets all names but those of the configuration.
  void Begin(const Config& config, Fleet& fleet);
  // Enters the models of a replica into the fleet, its description and its names at the engine.
  void Enter(const Config& config, FleetEntry& entry, Fleet& fleet, ReplicaSpec& spec);
  // The same for a replica of a fleet whose models are all entered. False: names of other replicas depend on it, so all
  // are to be entered anew.
  bool EnterAgain(const Config& config, FleetEntry& entry, Fleet& fleet, ReplicaSpec& spec);

  // The models that the configuration, a name or a replica of the fleet refers to, tombstones included. By id.
  std::vector<bool> NamedIn(const Fleet& fleet) const;
  // Makes those of the `quiet` models vacant that nothing names. Returns their ids.
  std::vector<uint32_t> Vacate(const std::vector<uint32_t>& quiet, Fleet& fleet);
  // Everybody has seen these ids vacant.
  void Offer(const std::vector<uint32_t>& ids) { free_.insert(ids.begin(), ids.end()); }

  // Once the fleet has all replicas with their contexts.
  void NoteContexts(const Fleet& fleet);
  // Once one of its replicas has other models or another context.
  void NoteContext(const Fleet& fleet, const ReplicaSpec& before, const ReplicaSpec& now);

  // The model by canonical name, configured alias, or a name that an engine serves. A name that nobody has means the
  // same with or without Ollama's tag `latest`.
  std::optional<ModelId> Find(absl::string_view name) const;
  // The largest context of the replicas that serve the model; 0: unknown.
  Tokens ContextOf(ModelId model) const;
  // `model` is a canonical name.
  ModelWords WordsOf(absl::string_view model) const;
  // Some names found no room since Begin().
  bool refused() const { return refused_; }
  // Models that were entered so far, once per replica and time: the work of all calls.
  int64_t entered() const { return entered_; }

 private:
  // A new id where the name has none.
  ModelId For(Fleet& fleet, const std::string& canonical);
  std::optional<ModelId> Add(const std::string& canonical, const std::string& engine_name, FleetEntry& entry,
                             Fleet& fleet, ReplicaSpec& spec);
  // There is room for a model that the engine is the first to name.
  bool MayBring(const FleetEntry& entry) const;
  void Bring(ModelId id, FleetEntry& entry);
  std::string Canonical(const Fleet& fleet, const std::string& name) const;
  // The model of this name, where the replica that is being entered has it.
  std::optional<ModelId> Listed(const std::string& canonical) const;
  void SetBase(Fleet& fleet, ModelId adapter, std::optional<ModelId> base);
  void Name(const std::string& name, ModelId id);
  void AddServed(const std::string& base, FleetEntry& entry, Fleet& fleet, ReplicaSpec& spec);
  void OfferAdapters(const Config& config, const std::string& base, FleetEntry& entry, Fleet& fleet, ReplicaSpec& spec);

  absl::flat_hash_map<std::string, ModelId> ids_;         // Ids by canonical name; vacant ones have none.
  std::set<uint32_t> free_;                               // Vacant ids that may be given again.
  absl::flat_hash_map<std::string, ModelId> names_;       // Ids by any name.
  absl::flat_hash_map<std::string, ModelWords> words_;    // The words by canonical name.
  absl::flat_hash_map<std::string, ModelId> configured_;  // Ids by the names of the configuration.
  std::vector<Tokens> contexts_;         // Indexed by model. 0: one is unknown. Negative: there is none.
  absl::flat_hash_set<ModelId> listed_;  // The models of the replica that is being entered.
  absl::flat_hash_map<ModelId, uint64_t>
      bringers_;                                // The engines that were the first to name a model, by their numbers.
  absl::flat_hash_map<uint64_t, int> brought_;  // Models of `bringers_`, by engine.
  uint64_t last_bringer_ = 0;
  bool refused_ = false;
  bool disputed_ = false;  // Two replicas say different things of a name.
  int64_t entered_ = 0;
};

// True: the replica loads and unloads the adapters of the configuration by order.
bool LoadsAdapters(const Config& config, const FleetEntry& entry);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_FLEET_FLEET_MODELS_H_
