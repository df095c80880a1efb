// The rules by which samples of an exporter have effects: the built-in ones of its kind, then those of its file.
#ifndef PENSTOCK_BACKENDS_NODE_SIGNALS_SIGNAL_RULES_H_
#define PENSTOCK_BACKENDS_NODE_SIGNALS_SIGNAL_RULES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "config/values/node_values.h"

namespace penstock {

struct SignalRule {
  NodeRuleConfig config;
  absl::string_view name;  // As in kBuiltInRules; empty: a rule of the file.
  uint64_t mask = 0;       // Not 0: the value is a set of bits, and counts as 1 when it has one of these, else as 0.
};

// Without those that it disables.
std::vector<SignalRule> RulesOf(const ExporterConfig& exporter);

// True: an exporter of this kind has such metrics, or a rule of its file reads this one. A page without any is that of
// another program.
bool IsOfKind(const ExporterConfig& exporter, absl::string_view name);

// True: the value is equal, begins as a pattern with a * at its end, or fits one of several with | between them.
bool FitsLabel(absl::string_view pattern, absl::string_view value);

// The rule in words, for the log: metric, labels, bound and effect.
std::string TextOf(const NodeRuleConfig& rule);

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_NODE_SIGNALS_SIGNAL_RULES_H_
