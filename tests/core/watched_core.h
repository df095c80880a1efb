// A decision core behind the gate of tenants, whose promises are checked after every event, around a fleet and the
// requests that are open.
//
// The owner changes the fleet, the health and the open requests, and sends the events that say so. The first broken
// promise is stored; from then on no event reaches the core. Not thread-safe.
#ifndef PENSTOCK_TESTS_CORE_WATCHED_CORE_H_
#define PENSTOCK_TESTS_CORE_WATCHED_CORE_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "router/core/tenants/tenant_gate.h"
#include "router/policies/variants/penstock_variants.h"
#include "tests/core/gpu_time_check.h"

namespace penstock::testing {

enum class Phase { kWaiting, kForwarded, kAborting };

struct OpenRequest {
  RequestArrived arrived;
  Instant arrival;
  Phase phase = Phase::kWaiting;
  bool answered = false;  // Its arrival got its answer.
  ReplicaId replica;
  LeaseId lease;
  int64_t generated = 0;  // In all tries that count.
  bool avoids = false;    // Some replica failed it.
  bool probe = false;     // It was sent in the present probation of its replica.
  bool limited = false;   // Its tenant had a limit when it arrived.
};

class WatchedCore {
 public:
  // Its books are recounted after every event.
  explicit WatchedCore(const PenstockVariant& variant)
      : variant_(variant), core_(std::make_unique<TenantGate>(MakePenstock(variant, 1))) {}

  void Send(const Event& event);
  // Fires timers for the next deadlines until then, `most` of them: a host under load may be late.
  void FireTimers(Instant until, int most);
  // The last events, written as a log, are read back as they were.
  void CheckLog();
  void Expect(bool holds, const std::string& promise);

  const PenstockVariant& variant() const { return variant_; }
  const AdmissionCore& core() const { return *core_; }
  // Empty while all promises hold.
  const std::string& broken() const { return broken_; }
  // The last events and actions, for messages.
  std::string History() const;
  int64_t forwards() const { return counts_.forwards; }
  int64_t aborts() const { return counts_.aborts; }
  // Arrivals that a limit of their tenant refused.
  int64_t over_limit() const { return counts_.over_limit; }
  // A digest of every action so far, in order: equal worlds with equal decisions have equal digests.
  uint64_t digest() const { return digest_; }

  Fleet fleet;
  std::vector<Health> health;
  std::map<RequestId, OpenRequest> open;
  Instant now = Instant::FromSeconds(100);
  bool shutting_down = false;

 private:
  struct Step {
    Instant at;
    Event event;
    std::vector<Action> actions;
  };

  void Take(const Event& event, const Action& action);
  // A probation that begins forgets the requests that run from before.
  void NoteHealth(const ReplicaHealth& event);
  void CheckTenantOf(OpenRequest& request);
  void TakeForward(const Forward& forward);
  void TakeRefuse(const Refuse& refuse, bool arriving);
  void CheckAfter(const Event& event);
  void CheckView(const CoreView& view);
  void CheckPools(const CoreView& view, bool anything_runs);
  void CheckNothingWaitsForAnIdleReplica(const CoreView& view);
  bool FitsAlone(const OpenRequest& request, const ReplicaSpec& spec, const CoreView& view) const;

  const PenstockVariant variant_;
  const std::unique_ptr<AdmissionCore> core_;
  struct Counts {
    int64_t forwards = 0, aborts = 0, over_limit = 0;
  };
  Counts counts_;
  int timers_on_end_ = 0;          // Timers that were due again at once.
  bool arrival_answered_ = false;  // The RequestArrived that is being applied has its answer.
  std::string broken_;
  uint64_t digest_ = 14695981039346656037u;
  std::deque<Step> history_;
  GpuTimeCheck gpu_time_;
  std::map<ReplicaId, Health> told_;  // The health that the core knows.
};

}  // namespace penstock::testing

#endif  // PENSTOCK_TESTS_CORE_WATCHED_CORE_H_
