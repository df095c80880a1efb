// The rules by which samples of an exporter have effects: the built-in ones of its kind, then those of its file.
#ifndef PENSTOCK_BACKENDS_NODE_SIGNALS_SIGNAL_RULES_H_
#define PENSTOCK_BACKENDS_NODE_SIGNALS_SIGNAL_RULES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "config/values/node_values.h"

namespace penstock {

struct SignalRule {
  NodeRuleConfig config;
  uint64_t mask = 0;  // Not 0: the value is a set of bits, and counts as 1 when it has one of these, else as 0.
};

std::vector<SignalRule> RulesOf(const ExporterConfig& exporter);

// The rule in words, for the log: metric, labels, bound and effect.
std::string TextOf(const NodeRuleConfig& rule);

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_NODE_SIGNALS_SIGNAL_RULES_H_
