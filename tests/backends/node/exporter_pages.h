// Exporters and their pages for tests.
#ifndef PENSTOCK_TESTS_BACKENDS_NODE_EXPORTER_PAGES_H_
#define PENSTOCK_TESTS_BACKENDS_NODE_EXPORTER_PAGES_H_

#include <string>
#include <utility>

#include "backends/dialect/metrics_text.h"
#include "backends/node/signals/exporter_watch.h"

namespace penstock {

inline ExporterConfig NodeExporter() {
  ExporterConfig config;
  config.kind = ExporterKind::kNodeExporter;
  config.every = Duration::Seconds(5);
  config.timeout = Duration::Seconds(2);
  return config;
}

inline ExporterConfig OneRule(NodeRuleConfig rule) {
  ExporterConfig config = NodeExporter();
  config.kind = ExporterKind::kPrometheus;
  config.rules = {std::move(rule)};
  return config;
}

inline NodeRuleConfig Hot(Duration hold = Duration()) {
  NodeRuleConfig rule;
  rule.metric = "temperature";
  rule.above = 90;
  rule.hold = hold;
  rule.effect = NodeEffect::kDerate;
  rule.factor = 3;
  return rule;
}

inline Instant At(double seconds) { return Instant() + Duration::Seconds(seconds); }

inline bool Read(ExporterWatch& watch, const std::string& text, double seconds) {
  watch.Begin();
  MetricsReader reader(text);
  while (const auto sample = reader.Next()) {
    if (!watch.Take(*sample)) return false;
  }
  watch.Commit(At(seconds));
  return true;
}

inline NodeEffects Effects(const ExporterWatch& watch, double seconds) {
  return watch.EffectsOn({.number = "0"}, At(seconds));
}

inline ExporterConfig OfKind(ExporterKind kind) {
  ExporterConfig config = NodeExporter();
  config.kind = kind;
  return config;
}

}  // namespace penstock

#endif  // PENSTOCK_TESTS_BACKENDS_NODE_EXPORTER_PAGES_H_
