// The LoRA adapters of a simulated engine, as vLLM's with runtime updates: it lists and serves those that were loaded.
//
// The engine can load the adapters of its base model that the configuration names, by name and path. A value; used on
// one thread.
#ifndef PENSTOCK_BACKENDS_SIMULATED_ENGINE_ADAPTER_SET_H_
#define PENSTOCK_BACKENDS_SIMULATED_ENGINE_ADAPTER_SET_H_

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "config/config.h"

namespace penstock::simulated {

class AdapterSet {
 public:
  explicit AdapterSet(std::vector<AdapterConfig> known = {}) : known_(std::move(known)) {}

  // Null: there is nothing at the path.
  const AdapterConfig* At(const std::string& path) const {
    const auto found =
        std::find_if(known_.begin(), known_.end(), [&path](const AdapterConfig& each) { return each.path == path; });
    return found == known_.end() ? nullptr : &*found;
  }
  bool Has(const std::string& name) const { return Find(name) != loaded_.end(); }
  // False: the name is loaded already.
  bool Load(const std::string& name, const std::string& path) {
    if (Has(name)) return false;
    loaded_.emplace_back(name, path);
    return true;
  }
  // False: the name is not loaded.
  bool Unload(const std::string& name) {
    const auto found = Find(name);
    if (found == loaded_.end()) return false;
    loaded_.erase(found);
    return true;
  }
  // Forgets what was loaded, as a restarted engine does.
  void Clear() { loaded_.clear(); }
  // Names and paths, in the order of their loads.
  const std::vector<std::pair<std::string, std::string>>& loaded() const { return loaded_; }

 private:
  std::vector<std::pair<std::string, std::string>>::const_iterator Find(const std::string& name) const {
    return std::find_if(loaded_.begin(), loaded_.end(), [&name](const auto& each) { return each.first == name; });
  }

  std::vector<AdapterConfig> known_;
  std::vector<std::pair<std::string, std::string>> loaded_;
};

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_ENGINE_ADAPTER_SET_H_
