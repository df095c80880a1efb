#include "backends/node/signals/exporter_watch.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

// Lines of the log that one page may cause.
constexpr size_t kMostNews = 16;
// The page of HAMi's monitor tells numbers and UUIDs of the devices with it.
constexpr absl::string_view kHamiDevices = "hami_host_gpu_memory_used_bytes";
constexpr size_t kMostDevices = 256;
constexpr double kLargestSet = 9e15;  // Whole numbers are exact below it.

bool Breaks(const NodeRuleConfig& rule, double value) {
  return (!rule.above || value > *rule.above) && (!rule.below || value < *rule.below);
}

}  // namespace

void NodeEffects::Add(const NodeEffects& other) {
  derate = std::max(derate, other.derate);
  storage_pressure = std::max(storage_pressure, other.storage_pressure);
  cpu_pressure = std::max(cpu_pressure, other.cpu_pressure);
  closed |= other.closed;
}

ExporterWatch::ExporterWatch(const ExporterConfig& config)
    : rules_(RulesOf(config)), stale_after_(config.every * 3 + config.timeout) {}

void ExporterWatch::Begin() {
  page_.clear();
  page_over_.clear();
  page_subjects_.clear();
}

bool ExporterWatch::Matches(const NodeRuleConfig& rule, const MetricSample& sample) {
  const auto fits = [&](const auto& label) {
    const std::optional<std::string> value = sample.Label(label.first);
    return value && FitsLabel(label.second, *value);
  };
  return std::all_of(rule.labels.begin(), rule.labels.end(), fits) &&
         std::none_of(rule.without.begin(), rule.without.end(), fits);
}

ExporterWatch::Subject ExporterWatch::SubjectOf(const MetricSample& sample) {
  Subject subject;
  subject.gpu = sample.Label("gpu");
  if (!subject.gpu) subject.gpu = sample.Label("device_index");
  if (!subject.gpu) subject.uuid = sample.Label("device_uuid").value_or("");
  subject.instance = sample.Label("GPU_I_ID");
  if (subject.instance == "") subject.instance.reset();
  return subject;
}

bool ExporterWatch::Concerns(const Subject& subject, const ExportedGpu& gpu) const {
  if (!subject.uuid.empty()) {
    const auto found = numbers_.find(subject.uuid);
    if (found == numbers_.end() || gpu.number != found->second) return false;
  }
  if (subject.gpu && gpu.number != *subject.gpu) return false;
  return !subject.instance || !gpu.instance || *subject.instance == *gpu.instance;
}

std::optional<double> ExporterWatch::ValueOf(const Key& key, double raw) const {
  if (rules_[key.first].config.over.empty()) return raw;
  const auto found = page_over_.find(key);
  if (found == page_over_.end() || !(found->second > 0)) return std::nullopt;
  return raw / found->second;
}

bool ExporterWatch::Take(const MetricSample& sample) {
  if (sample.name == kHamiDevices && sample.labels.size() <= kLongestLabels && numbers_.size() < kMostDevices) {
    const std::optional<std::string> uuid = sample.Label("device_uuid");
    const std::optional<std::string> number = sample.Label("device_index");
    if (uuid && number) numbers_[*uuid] = *number;
  }
  for (size_t i = 0; i < rules_.size(); ++i) {
    const NodeRuleConfig& rule = rules_[i].config;
    const bool divides = !rule.over.empty() && sample.name == rule.over;
    if (sample.name != rule.metric && !divides) continue;
    if (sample.labels.size() > kLongestLabels) return false;
    if (!Matches(rule, sample)) continue;
    std::map<Key, double>& values = divides ? page_over_ : page_;
    if (values.size() >= kMostSeries) return false;
    Key key(i, std::string(sample.labels));
    if (!divides) page_subjects_[key] = SubjectOf(sample);
    values[std::move(key)] = sample.value;
  }
  return true;
}

std::optional<ExporterWatch::Series> ExporterWatch::Next(const SignalRule& rule, const Series* before, double raw,
                                                         Instant at) const {
  if (!std::isfinite(raw) || (rule.config.rate && raw < 0)) return std::nullopt;
  Series next = before != nullptr ? *before : Series{};
  next.raw = raw;
  next.raw_at = at;
  if (rule.mask != 0) {
    if (raw < 0 || raw > kLargestSet) return std::nullopt;
    next.value = (static_cast<uint64_t>(raw) & rule.mask) != 0 ? 1 : 0;
  } else if (!rule.config.rate) {
    next.value = raw;
  } else if (before == nullptr || at <= before->raw_at) {
    return next;
  } else {
    next.value = (raw >= before->raw ? raw - before->raw : raw) / (at - before->raw_at).seconds();
  }
  next.known = true;
  const bool broken = Breaks(rule.config, next.value);
  if (before == nullptr || !before->known || broken != before->broken) next.changed = at;
  next.broken = broken;
  if (broken != next.active && at - next.changed >= rule.config.hold) next.active = broken;
  return next;
}

void ExporterWatch::Tell(const Key& key, absl::string_view words, absl::string_view detail) {
  const NodeRuleConfig& rule = rules_[key.first].config;
  const bool pressure = rule.effect == NodeEffect::kStorage || rule.effect == NodeEffect::kCpu;
  if (pressure || news_.size() >= kMostNews) return;
  news_.push_back(
      absl::StrCat(words, ": ", TextOf(rule), " (", key.second, key.second.empty() ? "" : ", ", detail, ")"));
}

void ExporterWatch::KeepMissing(std::map<Key, Series>& fresh, Instant at) {
  for (auto& [key, series] : series_) {
    if (fresh.contains(key)) continue;
    const bool kept = at - series.raw_at <= stale_after_ && fresh.size() < kMostSeries;
    if (kept) {
      fresh.emplace(key, std::move(series));
    } else if (series.active) {
      Tell(key, "is over", "no sample");
    }
  }
}

void ExporterWatch::Commit(Instant at) {
  std::map<Key, Series> fresh;
  for (const auto& [key, raw] : page_) {
    const SignalRule& rule = rules_[key.first];
    const auto found = series_.find(key);
    const bool known = found != series_.end() && at - found->second.raw_at <= stale_after_;
    const std::optional<double> value = ValueOf(key, raw);
    std::optional<Series> next = value ? Next(rule, known ? &found->second : nullptr, *value, at) : std::nullopt;
    if (!next) continue;
    next->subject = page_subjects_[key];
    const bool was = found != series_.end() && found->second.active;
    if (next->active != was) {
      Tell(key, next->active ? "begins" : "is over", absl::StrCat("value ", next->value));
    }
    fresh.emplace(key, *std::move(next));
  }
  KeepMissing(fresh, at);
  series_ = std::move(fresh);
  read_at_ = at;
  Begin();
}

bool ExporterWatch::IsStale(Instant now) const { return !read_at_ || now - *read_at_ > stale_after_; }

NodeEffects ExporterWatch::EffectsOn(const ExportedGpu& gpu, Instant now) const {
  NodeEffects all;
  if (IsStale(now)) return all;
  for (const auto& [key, series] : series_) {
    if (!series.active || !Concerns(series.subject, gpu)) continue;
    const NodeRuleConfig& rule = rules_[key.first].config;
    NodeEffects one;
    if (rule.effect == NodeEffect::kDerate) one.derate = rule.factor;
    if (rule.effect == NodeEffect::kStorage) one.storage_pressure = std::clamp(series.value / rule.factor, 0.0, 1.0);
    if (rule.effect == NodeEffect::kCpu) one.cpu_pressure = std::clamp(series.value / rule.factor, 0.0, 1.0);
    if (rule.effect == NodeEffect::kDrain) one.closed = true;
    all.Add(one);
  }
  return all;
}

}  // namespace penstock
