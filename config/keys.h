// Every key of the configuration, by section: the one table behind the reader's check for unknown keys. schema.json
// documents the same keys under the same section names; a test compares the two.
#ifndef PENSTOCK_CONFIG_KEYS_H_
#define PENSTOCK_CONFIG_KEYS_H_

#include <vector>

#include "absl/strings/string_view.h"

namespace penstock {

struct Section {
  absl::string_view name;
  std::vector<absl::string_view> keys;  // Empty: names chosen by the user (classes, trace models).
};

enum class SectionId {
  kRoot,
  kGpu,
  kGpuKind,
  kModel,
  kShape,
  kLayerGroup,
  kReplica,
  kEngineTls,
  kListenTls,
  kSimulated,
  kClasses,
  kClass,
  kTenant,
  kState,
  kTrace,
  kTraceModels,
  kLimits,
  kPoll,
  kLog,
};

const Section& SectionOf(SectionId id);
// In the order of SectionId.
const std::vector<Section>& Sections();

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_KEYS_H_
