#include "router/core/books/model_servers.h"

#include <algorithm>
#include <limits>

#include "kvmodel/step_model.h"

namespace penstock {
namespace {

constexpr double kSecondsPerMs = 1e-3;

}  // namespace

double ModelServers::Kind::FirstToken(const PrefillWork& prefill, double factor) const {
  return delay + factor * FirstTokenAlone(step, prefill, batch_budget);
}

double ModelServers::Kind::Work(Tokens prompt, const PrefillWork& prefill, double output, int sequences) const {
  const double rows = max_sequences;
  const double token = step.DecodeMs(rows, rows * (prompt.AsDouble() + output / 2)) / rows;
  return idle_factor * (step.PrefillMs(prefill) + token * output * sequences) * kSecondsPerMs;
}

void ModelServers::Add(size_t replica, const ReplicaSpec& spec) {
  const auto kind = std::find_if(kinds_.begin(), kinds_.end(), [&](const Kind& known) {
    return known.step == spec.prior && known.max_sequences == spec.max_sequences &&
           known.batch_budget == spec.batch_budget;
  });
  replicas_.push_back(replica);
  kind_of_.push_back(static_cast<size_t>(kind - kinds_.begin()));
  if (kind == kinds_.end()) kinds_.push_back({spec.prior, spec.max_sequences, spec.batch_budget, 0, 0, 0});
}

void ModelServers::Refresh(const std::vector<ReplicaBrief>& briefs, Instant now) {
  if (now < refresh_at_) return;
  refresh_at_ = now + kRefresh;
  const bool any_up = std::any_of(replicas_.begin(), replicas_.end(), [&](size_t index) { return briefs[index].up; });
  for (Kind& kind : kinds_) kind.idle_factor = kind.busy_factor = 0;
  for (Kind& kind : kinds_) kind.delay = std::numeric_limits<double>::infinity();
  const auto lower = [](double& least, double factor) { least = least > 0 ? std::min(least, factor) : factor; };
  for (size_t i = 0; i < replicas_.size(); ++i) {
    const ReplicaBrief& brief = briefs[replicas_[i]];
    if (any_up && !brief.up) continue;
    lower(kinds_[kind_of_[i]].idle_factor, brief.idle_factor);
    lower(kinds_[kind_of_[i]].busy_factor, brief.busy_factor);
    kinds_[kind_of_[i]].delay = std::min(kinds_[kind_of_[i]].delay, brief.Delay(now));
  }
}

}  // namespace penstock
