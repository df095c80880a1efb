// A fleet in which everything goes wrong, around a decision core. Replicas die, return, drain and report nonsense, and
// so do the exporters of their nodes. Reloads remove and change them. Time jumps, clients leave, aborts are answered
// late, events come twice or about nothing.
//
// The fleet, the rules of the core (drawn_fleet.h) and the next happening are drawn from Choices: the bytes of a seed
// or of a fuzzer. After every event the promises of the core are checked, and its books are recounted. The first broken
// promise is reported with the last events. Not thread-safe.
#ifndef PENSTOCK_TESTS_CORE_FAULT_WORLD_H_
#define PENSTOCK_TESTS_CORE_FAULT_WORLD_H_

#include <cstdint>
#include <vector>

#include "tests/core/choices.h"
#include "tests/core/watched_core.h"

namespace penstock::testing {

class FaultWorld {
 public:
  explicit FaultWorld(Choices& choices);

  // One thing happens.
  void Step();
  // Faults end, every replica works, every engine answers: what is open must end, and nothing may be left of it.
  void Calm();

  // The core and its promises.
  WatchedCore& core() { return core_; }
  const WatchedCore& core() const { return core_; }
  int64_t arrivals() const { return next_request_ - 1; }

 private:
  void Arrive();
  std::vector<uint64_t> DrawPrefix(Tokens prompt);
  void PassTime();
  void ClientLeaves();
  void TokensCome();
  void RequestEnds();
  void RequestFails();
  void AnswerAbort();
  void ReplicaChanges();
  void EngineReports();
  void Reload();
  void Nonsense();
  OpenRequest* Any(Phase phase);
  void Close(const OpenRequest& request, Outcome outcome);
  void Requeue(OpenRequest& request, bool avoid);
  ReplicaId AnyReplica() { return ReplicaId(static_cast<uint32_t>(choices_.Below(core_.fleet.replicas.size()))); }

  Choices& choices_;
  WatchedCore core_;
  int64_t next_request_ = 1;
};

}  // namespace penstock::testing

#endif  // PENSTOCK_TESTS_CORE_FAULT_WORLD_H_
