// The keys of nodes, their exporters and rules.
#ifndef PENSTOCK_CONFIG_KEYS_NODE_KEYS_H_
#define PENSTOCK_CONFIG_KEYS_NODE_KEYS_H_

#include "config/keys/key.h"
#include "config/keys/names.h"
#include "config/keys/ranges.h"
#include "config/values/node_values.h"

namespace penstock {

inline SectionDoc DocOf(const NodeRuleConfig&) {
  return {"node_rule", "A sample that breaks a bound has an effect on replicas (docs/node-signals.md)."};
}

template <Of<NodeRuleConfig> Section, class Visitor>
void VisitFields(Section& rule, Visitor& visit) {
  constexpr NumberForm kBound{-1e18, 1e18};
  visit(
      {"metric", "Name of the metric. A sample with a label gpu concerns that GPU of the node, others the whole node.",
       kRequired},
      rule.metric, NameForm{});
  visit({"labels",
         "Labels that the sample must have. A value is equal, begins as one with a * at its end, or is one of several "
         "with | between them: nvme*|md0. Left out: any sample.",
         kUnlessZero},
        rule.labels, TextMapForm{});
  visit({"without", "Samples with one of these labels are left out. Values as in `labels`.", kUnlessZero}, rule.without,
        TextMapForm{});
  visit({"over", "The value is divided by that of this metric with the same labels, as used over limit.", kUnlessZero},
        rule.over, NameForm{});
  visit({"rate", "True: the bounds are for the increase of a counter per second."}, rule.rate, FlagForm{});
  visit({"above", "The rule holds while the value is above it, and below `below` where both are given."}, rule.above,
        kBound);
  visit({"below", "The rule holds while the value is below it."}, rule.below, kBound);
  visit({"for", "The bound is broken for so long before the effect begins, and in order for so long before it ends."},
        rule.hold, kAnyTime);
  visit({"effect",
         "With derate, steps count as `factor` times as long. With storage or cpu, the value over `factor` is "
         "the pressure on the storage or the CPU. With drain, no new request comes while a peer can take it. With "
         "notice, the log has a line.",
         kRequired},
        rule.effect, ChoiceForm{kNodeEffectNames});
  visit({"factor", "Size of derate, storage and cpu."}, rule.factor, NumberForm{0.001, 1e12});
}

inline SectionDoc DocOf(const ExporterConfig&) {
  return {"exporter", "A page of metrics about a node, in the text format of Prometheus."};
}

template <Of<ExporterConfig> Section, class Visitor>
void VisitFields(Section& exporter, Visitor& visit) {
  visit({"kind", "node_exporter, dcgm and hami have built-in rules; prometheus has those of `rules` only.", kRequired},
        exporter.kind, ChoiceForm{kExporterNames});
  visit({"url", "Address of the page; without a path, /metrics is read.", kRequired}, exporter.url, EngineUrlForm{});
  visit({"every", "Time between two readings."}, exporter.every,
        TimeForm{Duration::Milliseconds(200), Duration::Seconds(600)});
  visit({"timeout", "Longest time of one reading, from the connection to the last byte."}, exporter.timeout,
        TimeForm{Duration::Milliseconds(50), Duration::Seconds(60)});
  visit({"key", "Bearer token for the exporter.", kUnlessZero}, exporter.key, SecretForm{});
  visit({"tls", "Verification of an https exporter beyond the defaults."}, exporter.tls, SectionForm{true});
  visit({"disable", "Built-in rules that do not count, by name (docs/node-signals.md)."}, exporter.disable,
        TextsForm{});
  visit({"rules", "Further rules, beside the built-in ones of the kind."}, exporter.rules, ListForm{});
}

inline SectionDoc DocOf(const SimulatedStorageConfig&) {
  return {
      "simulated_storage",
      "The storage of a node for simulate: requests that need it (`trace: {storage: ...}`) share it, and a simulated "
      "exporter reports its pressure every 5 s."};
}

template <Of<SimulatedStorageConfig> Section, class Visitor>
void VisitFields(Section& storage, Visitor& visit) {
  visit({"pressure", "Part of the storage that others take."}, storage.pressure, NumberForm{0, 0.99});
  visit({"from", "Start of that.", kUnlessZero}, storage.from, kAnyTime);
  visit({"to", "End of it. Left out: never.", kUnlessZero}, storage.to, kAnyTime);
}

inline SectionDoc DocOf(const NodeConfig&) {
  return {"node", "A machine with GPUs: its memory, and the exporters that watch it."};
}

template <Of<NodeConfig> Section, class Visitor>
void VisitFields(Section& node, Visitor& visit) {
  visit({"id", "Name of the node: the part of the ids of its GPUs before the last slash, as node1 of node1/gpu0.",
         kRequired},
        node.id, NameForm{});
  visit({"sleep_memory",
         "Memory of the node that the weights of sleeping replicas may take, for all of them together. A replica "
         "without room drops its weights where it can (vLLM's level 2), else it stays awake. Left out: no bound."},
        node.sleep_memory, kDeviceMemory);
  visit({"exporters", "Exporters of the node."}, node.exporters, ListForm{});
  visit({"simulated", "Storage for simulate; {} takes every default. Left out: reads take no time."}, node.simulated,
        SectionForm{true});
}

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_KEYS_NODE_KEYS_H_
