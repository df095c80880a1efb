// The rule of a rival policy: it chooses a replica for a request, or lets the request wait.
//
// A rule sees the books of its RivalCore and keeps books of its own through the hooks. RivalCore calls a hook after its
// own books changed. Owner: one RivalCore; one caller at a time. A rule is deterministic: equal seeds and events give
// equal choices.
#ifndef PENSTOCK_ROUTER_POLICIES_KIT_RIVAL_RULE_H_
#define PENSTOCK_ROUTER_POLICIES_KIT_RIVAL_RULE_H_

#include <cstdint>
#include <variant>
#include <vector>

#include "router/policies/kit/rival_books.h"

namespace penstock {

class RivalRule {
 public:
  using Choice = std::variant<ReplicaId, WaitReason>;
  using Live = RivalBooks::Live;

  virtual ~RivalRule() = default;
  // RivalCore calls it once, before the first event.
  void Attach(const RivalBooks& books) { books_ = &books; }

  // `candidates` is not empty, in rising order: replicas that serve the model, can hold the prompt, and are up.
  virtual Choice Choose(const RequestArrived& request, const std::vector<ReplicaId>& candidates) = 0;
  // True: a request is refused when its first token can no longer be in time.
  virtual bool RefusesLate() const = 0;
  // The time for which a request of this class may wait.
  virtual Duration QueueTime(const ClassSpec& service_class) const { return service_class.queue; }
  // A smaller value goes first within a model. RivalCore asks once, when the request starts to wait.
  virtual double OrderOf(const RequestArrived&) const { return 0; }
  // True: a first token or a progress sample can change the answer of Choose().
  virtual bool RetriesOnTokens() const { return false; }

  virtual void OnDispatched(const Live&) {}
  virtual void OnFirstToken(const Live&) {}
  // `closed` is null where the request waits again. The replica no longer counts the request.
  virtual void OnEnded(const Live&, const RequestClosed* /*closed*/) {}
  virtual void OnReport(ReplicaId) {}
  virtual void OnSteps(ReplicaId, int64_t /*steps*/) {}
  virtual void OnFleet() {}
  // The model is gone; its id may be given to another.
  virtual void Forget(ModelId) {}

 protected:
  const RivalBooks& books() const { return *books_; }
  Instant now() const { return books_->now(); }
  const Fleet& fleet() const { return books_->fleet(); }
  const RivalBooks::Replica& replica(ReplicaId id) const { return books_->replica(id); }
  const ReplicaSpec& spec(ReplicaId id) const { return books_->spec(id); }

 private:
  const RivalBooks* books_ = nullptr;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_POLICIES_KIT_RIVAL_RULE_H_
