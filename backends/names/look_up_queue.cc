#include "backends/names/look_up_queue.h"

#include <utility>

namespace penstock {

void LookUpQueue::Add(const std::string& name) { (were_slow_.contains(name) ? slow_ : quick_).push_back(name); }

std::vector<std::string> LookUpQueue::Begin() {
  std::vector<std::string> names;
  const auto take = [this, &names](std::deque<std::string>& from) {
    names.push_back(std::move(from.front()));
    from.pop_front();
    ++running_;
  };
  while (!quick_.empty() && running_ < kMost) take(quick_);
  while (!slow_.empty() && running_ < kMost && slow_running_.size() < kMostSlow) {
    take(slow_);
    slow_running_.insert(names.back());
  }
  return names;
}

void LookUpQueue::End(const std::string& name, Duration took) {
  --running_;
  slow_running_.erase(name);
  if (took >= kSlow) {
    were_slow_.insert(name);
  } else {
    were_slow_.erase(name);
  }
}

}  // namespace penstock
