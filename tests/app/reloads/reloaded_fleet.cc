#include "tests/app/reloads/reloaded_fleet.h"

#include <algorithm>
#include <utility>

#include "router/core/contract/vacancy.h"
#include "tests/app/reloads/drawn_config.h"

namespace penstock::testing {

void ReloadedFleet::Named::Note(const std::vector<bool>& named, uint64_t view) {
  last.resize(std::max(last.size(), named.size()));
  for (size_t i = 0; i < named.size(); ++i) last[i] = named[i] ? view : last[i];
}

bool ReloadedFleet::Named::IsQuiet(uint32_t place, uint64_t oldest) const {
  return place >= last.size() || last[place] + 1 < oldest;
}

std::vector<uint32_t> ReloadedFleet::Named::Quiet(const std::vector<bool>& named, uint64_t oldest) const {
  std::vector<uint32_t> quiet;
  for (uint32_t i = 0; i < named.size(); ++i) {
    if (!named[i] && IsQuiet(i, oldest)) quiet.push_back(i);
  }
  return quiet;
}

ReloadedFleet::ReloadedFleet(Choices& choices) : choices_(choices) {
  while (!book_) Take(DrawConfigText(choices_));
}

std::vector<Event> ReloadedFleet::Change() { return choices_.OneIn(2) ? Take(DrawConfigText(choices_)) : Discover(); }

std::vector<Event> ReloadedFleet::Take(const std::string& text) {
  const absl::StatusOr<Config> config = ParseConfig(text, "drawn.yaml");
  if (!config.ok()) {
    ++counts_.refused;
    return {};
  }
  ++counts_.reloads;
  text_ = text;
  if (book_) {
    book_->Update(*config);
  } else {
    book_.emplace(*config);
  }
  return View();
}

std::optional<ReplicaId> ReloadedFleet::AnyLive() {
  const ReplicaId replica(static_cast<uint32_t>(choices_.Below(book_->fleet().replicas.size())));
  if (book_->removed(replica) || replica.value() >= told_.replicas.size()) return std::nullopt;
  return replica;
}

std::vector<Event> ReloadedFleet::Discover() {
  const std::optional<ReplicaId> replica = AnyLive();
  if (!replica) return {};
  // The ranks of an engine have one answer.
  const ReplicaId first(book_->entry(*replica).first);
  if (!book_->SetDiscovery(first, DrawDiscovery(choices_, *book_, first))) return {};
  return View();
}

std::vector<Event> ReloadedFleet::View() {
  ++view_;
  const Fleet& fleet = book_->fleet();
  std::vector<bool> live;
  live.reserve(fleet.replicas.size());
  for (const ReplicaSpec& replica : fleet.replicas) live.push_back(!replica.removed);
  replicas_.Note(live, view_);
  models_.Note(book_->models().NamedIn(fleet), view_);
  classes_.Note(NamedClasses(book_->config(), fleet), view_);
  if (told_.classes == fleet.classes) return {};
  told_.classes = fleet.classes;
  return {FleetChanged{told_}};
}

std::vector<Event> ReloadedFleet::Publish() {
  if (told_ == book_->fleet()) return View();
  told_ = book_->fleet();
  book_->Offer(std::exchange(vacated_, Vacated()));
  return {FleetChanged{told_}};
}

std::vector<Event> ReloadedFleet::Vacate(const CoreView& seen, uint64_t oldest,
                                         const std::function<bool(uint32_t)>& ordered) {
  if (told_ != book_->fleet()) return {};
  oldest = std::min(oldest, view_);
  QuietPlaces quiet;
  for (uint32_t i = 0; i < told_.replicas.size(); ++i) {
    const bool left = told_.replicas[i].removed && !IsVacant(told_.replicas[i]);
    const bool idle = left && !ordered(i) && seen.replicas[i].running == 0;
    if (idle && replicas_.IsQuiet(i, oldest)) quiet.replicas.emplace_back(i);
  }
  for (const PoolView& pool : seen.pools) {
    quiet.idle_pools.push_back(pool.promised == Amount(0) && pool.draining == Amount(0) && pool.lent == Amount(0));
  }
  quiet.models = models_.Quiet(book_->models().NamedIn(told_), oldest);
  quiet.classes = classes_.Quiet(NamedClasses(book_->config(), told_), oldest);
  if (quiet.empty()) return {};
  vacated_ = book_->Vacate(quiet);
  counts_.vacated += static_cast<int64_t>(vacated_.replicas.size() + vacated_.models.size() + vacated_.classes.size());
  return View();
}

}  // namespace penstock::testing
