// The names of the fleet that are label values, and the lock under which series of them are counted.
//
// Models, classes, replicas and tenants come and go with reloads. A name is a label while the fleet has it. Whoever
// counts finds the label, finds the series and adds to it, all under Reading(). Whoever changes the names drops them
// under Changing(). Then nobody reaches the series of a dropped name any more, and they may end. A change waits for
// those who count, but not for those who come later. The lock of the system alone would let them pass. Thread-safe
// where the lock is held.
#ifndef PENSTOCK_ROUTER_TELEMETRY_NAMES_FLEET_NAMES_H_
#define PENSTOCK_ROUTER_TELEMETRY_NAMES_FLEET_NAMES_H_

#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "router/core/contract/fleet.h"
#include "router/telemetry/names/label_names.h"

namespace penstock {

// Names that are no labels any more.
struct DroppedNames {
  LabelNames::Dropped models;
  LabelNames::Dropped classes;
  LabelNames::Dropped replicas;
  LabelNames::Dropped tenants;
  bool empty() const {
    return models.names.empty() && classes.names.empty() && replicas.names.empty() && tenants.names.empty();
  }
};

class FleetNames {
 public:
  // `max_names` bounds the values of one label at a time.
  explicit FleetNames(size_t max_names) : max_names_(max_names) {}

  // The exclusive lock, as long as it lives.
  class Change {
   public:
    explicit Change(const FleetNames& names) : names_(names) {
      names_.changes_.fetch_add(1, std::memory_order_relaxed);
      names_.gate_.lock();
      names_.mutex_.lock();
    }
    ~Change() {
      names_.mutex_.unlock();
      names_.gate_.unlock();
      names_.changes_.fetch_sub(1, std::memory_order_relaxed);
    }
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;

   private:
    const FleetNames& names_;
  };

  // (The packaged absl::Mutex is opaque to the thread sanitizer.)
  std::shared_lock<std::shared_mutex> Reading() const {
    if (changes_.load(std::memory_order_relaxed) > 0) AwaitChange();
    return std::shared_lock(mutex_);
  }
  Change Changing() const { return Change(*this); }

  // Under Changing().
  DroppedNames SetFleet(const Fleet& fleet);
  DroppedNames SetTenants(const std::vector<std::string>& tenants);

  // Under either lock.
  // True: SetFleet would change nothing. So nobody waits for Changing() while the fleet has the same names.
  bool IsOf(const Fleet& fleet) const;
  const LabelNames& models() const { return models_; }
  const LabelNames& classes() const { return classes_; }
  const LabelNames& replicas() const { return replicas_; }
  const LabelNames& tenants() const { return tenants_; }
  bool has_tenants() const { return has_tenants_; }
  // The replica's name, or "other" when the fleet does not have it.
  const std::string& ReplicaLabel(absl::string_view replica) const { return replicas_[replicas_.Find(replica)]; }

 private:
  void AwaitChange() const { const std::lock_guard wait(gate_); }

  const size_t max_names_;
  mutable std::atomic<int> changes_{0};  // Waiting, or under way.
  mutable std::mutex gate_;              // Held during a change.
  mutable std::shared_mutex mutex_;      // Guards everything below.
  LabelNames models_;
  LabelNames classes_;
  LabelNames replicas_;
  LabelNames tenants_;
  bool has_tenants_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_TELEMETRY_NAMES_FLEET_NAMES_H_
