#include "backends/names/look_up_queue.h"

#include <utility>

namespace penstock {

void LookUpQueue::Add(const std::string& name) {
  const auto known = known_.find(name);
  const Kind kind = known == known_.end() ? Kind::kNew : known->second ? Kind::kSlow : Kind::kQuick;
  Waiting(kind).push_back(name);
}

std::vector<std::string> LookUpQueue::Begin(Instant now) {
  size_t young = 0;
  size_t hung = 0;
  for (const auto& [name, look_up] : running_) {
    const bool is_young = now - look_up.since < kSlow;
    young += is_young ? 1 : 0;
    hung += !is_young || look_up.kind == Kind::kSlow ? 1 : 0;
  }
  std::vector<std::string> names;
  const auto take = [&](Kind kind) {
    std::deque<std::string>& from = Waiting(kind);
    running_[from.front()] = {now, kind};
    names.push_back(std::move(from.front()));
    from.pop_front();
    ++young;
    hung += kind == Kind::kSlow ? 1 : 0;
  };
  const auto has_room = [&](size_t most) { return young < kMostYoung && running_.size() < most; };
  while (!Waiting(Kind::kQuick).empty() && has_room(kMost)) take(Kind::kQuick);
  while (!Waiting(Kind::kNew).empty() && has_room(kMost - kForKnown)) take(Kind::kNew);
  while (!Waiting(Kind::kSlow).empty() && has_room(kMost - kForKnown) && hung < kMostSlow) take(Kind::kSlow);
  return names;
}

void LookUpQueue::End(const std::string& name, Instant now) {
  const auto ended = running_.extract(name);
  if (!ended.empty()) Remember(name, now - ended.mapped().since >= kSlow);
}

void LookUpQueue::Remember(const std::string& name, bool slow) {
  const auto [known, fresh] = known_.insert_or_assign(name, slow);
  if (!fresh) return;
  order_.push_back(name);
  if (order_.size() <= kMostKnown) return;
  known_.erase(order_.front());
  order_.pop_front();
}

}  // namespace penstock
