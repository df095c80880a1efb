// The caches of prompts that a simulated engine keeps for others, as vLLM's NixlConnector does.
//
// Each has a lease; behind its end the memory is free. One per engine, used on its thread. Invariant: each
// entry is a sequence that has ended in the engine and keeps its blocks, unless the engine was started anew. O(log n),
// but for Expire, which is O(n).
#ifndef PENSTOCK_BACKENDS_SIMULATED_HANDOVER_KEPT_CACHES_H_
#define PENSTOCK_BACKENDS_SIMULATED_HANDOVER_KEPT_CACHES_H_

#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "backends/simulated/engine/engine.h"
#include "base/units.h"

namespace penstock::simulated {

class KeptCaches {
 public:
  // kv_lease_duration of vLLM; simulated.
  static constexpr Duration kLease = Duration::Seconds(30);

  explicit KeptCaches(std::shared_ptr<Engine> engine) : engine_(std::move(engine)) {}

  // Keeps the cache of an ended sequence under the name of its request. One that had the name before is freed.
  void Add(const std::string& request, SequenceId id, Tokens tokens, Instant now) {
    GiveAway(request);
    kept_[request] = {id, tokens, now + Duration::Seconds(kLease.seconds() / engine_->spec().time_scale)};
  }
  // The tokens of a cache; none: nobody keeps it.
  std::optional<Tokens> TokensOf(const std::string& request) const {
    const auto found = kept_.find(request);
    return found == kept_.end() ? std::nullopt : std::optional(found->second.tokens);
  }
  // Frees the memory of a cache that another engine fetched. False: nobody keeps it.
  bool GiveAway(const std::string& request) {
    const auto found = kept_.find(request);
    if (found == kept_.end()) return false;
    const SequenceId id = found->second.id;
    kept_.erase(found);
    engine_->Abort(id);
    return true;
  }
  // The engine was started anew.
  void Clear() { kept_.clear(); }
  // Frees the caches that nobody fetched in time.
  void Expire(Instant now) {
    for (auto each = kept_.begin(); each != kept_.end();) {
      const Kept kept = each->second;
      each = kept.until > now ? std::next(each) : kept_.erase(each);
      if (kept.until <= now) engine_->Abort(kept.id);
    }
  }

 private:
  struct Kept {
    SequenceId id = 0;
    Tokens tokens{0};
    Instant until;
  };
  const std::shared_ptr<Engine> engine_;
  std::map<std::string, Kept> kept_;
};

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_HANDOVER_KEPT_CACHES_H_
