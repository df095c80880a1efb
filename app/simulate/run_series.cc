#include "app/simulate/run_series.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <variant>

namespace penstock {
namespace {

// The nearest rank; `sorted` is not empty.
double Percentile(const std::vector<double>& sorted, double share) {
  const auto rank = static_cast<size_t>(std::lround(share * static_cast<double>(sorted.size() - 1)));
  return sorted[rank];
}

}  // namespace

RunSeries::RunSeries(const Fleet& fleet, Duration window)
    : classes_(fleet.classes),
      slice_(Duration::Nanoseconds(std::max<int64_t>(1, window.nanoseconds() / static_cast<int64_t>(kSlices)))),
      slices_(kSlices),
      ttfts_(kSlices),
      memory_(fleet.replicas.size(), -1) {}

size_t RunSeries::SliceAt(Instant at) const {
  return static_cast<size_t>(std::max<int64_t>(0, at.nanoseconds()) / slice_.nanoseconds());
}

void RunSeries::Take(const Event& event, Instant now, const std::vector<Action>& actions) {
  MoveTo(now);
  std::visit(
      [&](const auto& each) {
        using Kind = std::decay_t<decltype(each)>;
        if constexpr (std::is_same_v<Kind, RequestArrived>) {
          Open& open = open_[each.request.value()];
          open.arrival = now;
          open.service_class = each.service_class.value();
        } else if constexpr (std::is_same_v<Kind, FirstToken>) {
          OnFirstToken(each.request, now);
        } else if constexpr (std::is_same_v<Kind, RequestRequeued>) {
          SetWaiting(each.request, true);
        } else if constexpr (std::is_same_v<Kind, RequestClosed>) {
          OnClosed(each, now);
        } else if constexpr (std::is_same_v<Kind, EngineReport>) {
          OnReport(each);
        }
      },
      event);
  for (const Action& action : actions) OnAction(action);
  if (at_ < kSlices) slices_[at_].waiting = std::max(slices_[at_].waiting, static_cast<double>(waiting_));
}

// A slice without an event has the queue and the memory of the one before.
void RunSeries::MoveTo(Instant now) {
  const size_t to = SliceAt(now);
  while (at_ < std::min(to, kSlices)) {
    ++at_;
    if (at_ == kSlices) break;
    slices_[at_].waiting = static_cast<double>(waiting_);
    slices_[at_].fullest_memory = slices_[at_ - 1].fullest_memory;
    slices_[at_].mean_memory = slices_[at_ - 1].mean_memory;
  }
}

void RunSeries::SetWaiting(RequestId request, bool waiting) {
  const auto found = open_.find(request.value());
  if (found == open_.end() || found->second.waiting == waiting) return;
  found->second.waiting = waiting;
  waiting_ += waiting ? 1 : -1;
}

void RunSeries::OnAction(const Action& action) {
  if (const auto* park = std::get_if<Park>(&action)) {
    SetWaiting(park->request, true);
  } else if (const auto* forward = std::get_if<Forward>(&action)) {
    SetWaiting(forward->request, false);
  } else if (const auto* refuse = std::get_if<Refuse>(&action)) {
    SetWaiting(refuse->request, false);
    open_.erase(refuse->request.value());
    if (at_ < kSlices) ++slices_[at_].refused;
  }
}

void RunSeries::OnFirstToken(RequestId request, Instant now) {
  const auto found = open_.find(request.value());
  if (found == open_.end() || found->second.started) return;
  found->second.started = true;
  found->second.first = now;
  const size_t slice = SliceAt(found->second.arrival);
  if (slice < kSlices) ttfts_[slice].push_back((now - found->second.arrival).seconds());
}

void RunSeries::OnClosed(const RequestClosed& closed, Instant now) {
  SetWaiting(closed.request, false);
  const auto found = open_.find(closed.request.value());
  if (found == open_.end()) return;
  const Open open = found->second;
  open_.erase(found);
  if (closed.outcome != Outcome::kFinished || !open.started || open.service_class >= classes_.size()) return;
  const ClassSpec& goals = classes_[open.service_class];
  const int64_t tokens = closed.output.value();
  const double gap = tokens > 1 ? (now - open.first).seconds() / static_cast<double>(tokens - 1) : 0;
  for (int64_t i = 0; i < tokens; ++i) {
    const Duration since = Duration::Seconds((open.first - open.arrival).seconds() + gap * static_cast<double>(i));
    const size_t slice = SliceAt(open.arrival + since);
    if (slice >= kSlices) break;
    const bool late = since.seconds() > goals.ttft.seconds() + goals.tpot.seconds() * static_cast<double>(i);
    ++(late ? slices_[slice].late_tokens : slices_[slice].active_tokens);
  }
}

void RunSeries::OnReport(const EngineReport& report) {
  if (report.kv_used_share < 0 || report.replica.value() >= memory_.size() || at_ >= kSlices) return;
  memory_[report.replica.value()] = report.kv_used_share;
  double sum = 0;
  double most = 0;
  int known = 0;
  for (const double share : memory_) {
    if (share < 0) continue;
    sum += share;
    most = std::max(most, share);
    ++known;
  }
  // The first report of a slice replaces what the slice before left.
  const double before = reported_at_ == at_ ? slices_[at_].fullest_memory : 0;
  reported_at_ = at_;
  slices_[at_].fullest_memory = std::max(before, most);
  slices_[at_].mean_memory = sum / known;
}

std::vector<RunSeries::Slice> RunSeries::Slices() {
  for (size_t i = 0; i < kSlices; ++i) {
    std::vector<double>& samples = ttfts_[i];
    if (samples.empty()) continue;
    std::sort(samples.begin(), samples.end());
    slices_[i].median_ttft = Percentile(samples, 0.5);
    slices_[i].slow_ttft = Percentile(samples, 0.9);
  }
  return slices_;
}

}  // namespace penstock
