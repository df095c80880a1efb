// A fleet in which everything goes wrong, around a decision core. Replicas die, return, drain and report nonsense.
// Reloads remove and change them. Time jumps, clients leave, aborts are answered late, events come twice or about
// nothing.
//
// The fleet, the rules of the core (drawn_fleet.h) and the next happening are drawn from Choices: the bytes of a seed
// or of a fuzzer. After every event the promises of the core are checked, and its books are recounted. The first broken
// promise is reported with the last events. Not thread-safe.
#ifndef PENSTOCK_TESTS_CORE_FAULT_WORLD_H_
#define PENSTOCK_TESTS_CORE_FAULT_WORLD_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "router/policies/variants/penstock_variants.h"
#include "tests/core/choices.h"

namespace penstock::testing {

class FaultWorld {
 public:
  explicit FaultWorld(Choices& choices);

  // One thing happens.
  void Step();
  // Faults end, every replica works, every engine answers: what is open must end, and nothing may be left of it.
  void Calm();

  // The last events, written as a log, are read back as they were.
  void CheckLog();

  // Empty while all promises hold.
  const std::string& broken() const { return broken_; }
  // The last events and actions, for messages.
  std::string History() const;
  int64_t arrivals() const { return next_request_ - 1; }
  int64_t forwards() const { return forwards_; }
  int64_t aborts() const { return aborts_; }
  // Of every action so far, in order: equal worlds with equal decisions have equal digests.
  uint64_t digest() const { return digest_; }

 private:
  enum class Phase { kWaiting, kForwarded, kAborting };
  struct Request {
    RequestArrived arrived;
    Instant arrival;
    Phase phase = Phase::kWaiting;
    bool answered = false;  // Its arrival got its answer.
    ReplicaId replica;
    LeaseId lease;
    int64_t generated = 0;  // In all tries that count.
    bool avoids = false;    // Some replica failed it.
  };
  struct Told {
    Instant at;
    Event event;
    std::vector<Action> actions;
  };

  void Send(const Event& event);
  void FireTimers(Instant until, int most);
  void Take(const Event& event, const Action& action);
  void TakeForward(const Forward& forward);
  void TakeRefuse(const Refuse& refuse, bool arriving);
  void Expect(bool holds, const std::string& promise);
  void CheckAfter(const Event& event);
  void CheckView(const CoreView& view);
  void CheckPools(const CoreView& view, bool anything_runs);
  void CheckNothingWaitsForAnIdleReplica(const CoreView& view);
  bool FitsAlone(const Request& request, const ReplicaSpec& spec) const;

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
  Request* Any(Phase phase);
  void Close(const Request& request, Outcome outcome);
  void Requeue(Request& request, bool avoid);
  ReplicaId AnyReplica() { return ReplicaId(static_cast<uint32_t>(choices_.Below(fleet_.replicas.size()))); }

  Choices& choices_;
  const PenstockVariant variant_;
  const std::unique_ptr<AdmissionCore> core_;
  Fleet fleet_;
  std::vector<Health> health_;
  std::map<RequestId, Request> open_;
  Instant now_ = Instant::FromSeconds(100);
  int64_t next_request_ = 1;
  int64_t forwards_ = 0;
  int64_t aborts_ = 0;
  bool shutting_down_ = false;
  int timers_on_end_ = 0;          // That were due again at once.
  bool arrival_answered_ = false;  // The RequestArrived that is being applied has its answer.
  std::string broken_;
  uint64_t digest_ = 14695981039346656037u;
  std::deque<Told> history_;
};

}  // namespace penstock::testing

#endif  // PENSTOCK_TESTS_CORE_FAULT_WORLD_H_
