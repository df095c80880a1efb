#include "router/jobs/worker/work_queue.h"

namespace penstock::jobs {

void WorkQueue::PushInTurn(uint64_t caller, Work work) {
  std::deque<Work>& reads = reads_[caller];
  if (reads.empty()) callers_.push_back(caller);
  reads.push_back(std::move(work));
}

WorkQueue::Work WorkQueue::Pop() {
  const bool read = !callers_.empty() && (read_is_next_ || usual_.empty());
  read_is_next_ = !read;
  if (read) return PopInTurn();
  Work work = std::move(usual_.front());
  usual_.pop_front();
  return work;
}

WorkQueue::Work WorkQueue::PopInTurn() {
  const uint64_t caller = callers_.front();
  callers_.pop_front();
  const auto found = reads_.find(caller);
  Work work = std::move(found->second.front());
  found->second.pop_front();
  if (found->second.empty()) {
    reads_.erase(found);
  } else {
    callers_.push_back(caller);
  }
  return work;
}

}  // namespace penstock::jobs
