// The models of the fleet as clients see them: context, state, and the endpoints that their engines have.
//
// Its lists are texts, made once for all clients. Immutable. Construction costs O(replicas x models), a question O(1).
#ifndef PENSTOCK_ROUTER_HTTP_PAGES_MODEL_LIST_H_
#define PENSTOCK_ROUTER_HTTP_PAGES_MODEL_LIST_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/ids.h"
#include "router/core/contract/view.h"
#include "router/live/fleet_view.h"

namespace penstock {

// The best first.
enum class ModelState : uint8_t {
  kUp,  // A replica serves it.
  kWaking,
  kAsleep,  // A replica wakes for its next request.
  kDown,
};
absl::string_view LabelOf(ModelState state);

class ModelList {
 public:
  // `since` is the birthday of all models: they have none of their own.
  ModelList(std::shared_ptr<const FleetView> fleet, const CoreView& core, absl::Time since);

  // That of the best replica.
  ModelState StateOf(ModelId model) const;
  // /v1/models: all models with their aliases.
  const std::string& json() const { return json_; }
  // /v1/models/NAME; empty: the fleet has no such model.
  std::string OneJson(absl::string_view name) const;
  // /api/tags and /api/ps of Ollama's API: all models, and those in memory.
  const std::string& tags() const { return tags_; }
  const std::string& running() const { return running_; }

 private:
  std::string OneJson(absl::string_view name, ModelId model) const;
  void WriteLists();

  const std::shared_ptr<const FleetView> fleet_;
  const absl::Time since_;
  std::vector<ModelState> states_;  // Indexed by model.
  std::string json_;
  std::string tags_;
  std::string running_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_PAGES_MODEL_LIST_H_
