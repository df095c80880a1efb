// The words that the metrics put where a class or a tenant has no name of its own.
//
// A class or tenant of such a name would share its series. The list matches router/telemetry/names/label_names.h.
#ifndef PENSTOCK_CONFIG_VALUES_LABEL_WORDS_H_
#define PENSTOCK_CONFIG_VALUES_LABEL_WORDS_H_

#include "absl/strings/string_view.h"

namespace penstock {

// "none" stands for a request without one, "other" for a name that the metrics do not know.
constexpr bool IsLabelWord(absl::string_view name) { return name == "none" || name == "other"; }

inline constexpr absl::string_view kIsLabelWord =
    "is a word of the metrics: they count requests of no name under none, "
    "of unknown names under other; choose another name";

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_VALUES_LABEL_WORDS_H_
