// The part of a request that an engine of a pair computes.
#ifndef PENSTOCK_BASE_ENGINE_ROLE_H_
#define PENSTOCK_BASE_ENGINE_ROLE_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace penstock {

// A prefill engine computes prompts and hands their cache over; a decode engine takes it and generates. An engine of
// kBoth does all itself.
enum class EngineRole : uint8_t { kBoth, kPrefill, kDecode };

constexpr absl::string_view LabelOf(EngineRole role) {
  constexpr absl::string_view kLabels[] = {"both", "prefill", "decode"};
  return kLabels[static_cast<size_t>(role)];
}

}  // namespace penstock

#endif  // PENSTOCK_BASE_ENGINE_ROLE_H_
