// The works that wait for the thread of the store.
//
// The router's own works run in the order of their coming. Works of clients run in turn: one work of each caller, then
// the next of the first. Both kinds alternate, so no number of works of one caller keeps others waiting. Not
// thread-safe.
#ifndef PENSTOCK_ROUTER_JOBS_WORKER_WORK_QUEUE_H_
#define PENSTOCK_ROUTER_JOBS_WORKER_WORK_QUEUE_H_

#include <cstdint>
#include <deque>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "router/jobs/store/job_store.h"

namespace penstock::jobs {

class WorkQueue {
 public:
  using Work = absl::AnyInvocable<void(JobStore&)>;

  void Push(Work work) { own_.push_back(std::move(work)); }
  void PushInTurn(uint64_t caller, Work work);
  bool empty() const { return own_.empty() && callers_.empty(); }
  // The next work; not while it is empty.
  Work Pop();

 private:
  Work PopInTurn();

  std::deque<Work> own_;
  std::deque<uint64_t> callers_;  // Those with works, the next one first.
  absl::flat_hash_map<uint64_t, std::deque<Work>> works_;
  bool client_is_next_ = false;
};

}  // namespace penstock::jobs

#endif  // PENSTOCK_ROUTER_JOBS_WORKER_WORK_QUEUE_H_
