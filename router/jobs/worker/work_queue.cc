#include "router/jobs/worker/work_queue.h"

namespace penstock::jobs {

void WorkQueue::PushInTurn(uint64_t caller, Work work) {
  std::deque<Work>& works = works_[caller];
  if (works.empty()) callers_.push_back(caller);
  works.push_back(std::move(work));
}

WorkQueue::Work WorkQueue::Pop() {
  const bool client = !callers_.empty() && (client_is_next_ || own_.empty());
  client_is_next_ = !client;
  if (client) return PopInTurn();
  Work work = std::move(own_.front());
  own_.pop_front();
  return work;
}

WorkQueue::Work WorkQueue::PopInTurn() {
  const uint64_t caller = callers_.front();
  callers_.pop_front();
  const auto found = works_.find(caller);
  Work work = std::move(found->second.front());
  found->second.pop_front();
  if (found->second.empty()) {
    works_.erase(found);
  } else {
    callers_.push_back(caller);
  }
  return work;
}

}  // namespace penstock::jobs
