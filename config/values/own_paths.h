// The paths that the router serves or passes by itself, so that no configured route takes one of them.
#ifndef PENSTOCK_CONFIG_VALUES_OWN_PATHS_H_
#define PENSTOCK_CONFIG_VALUES_OWN_PATHS_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace penstock {

// A path with the end "/" stands for every path below.
absl::Span<const absl::string_view> OwnPaths();

// The own path that a configured route would take requests of; empty: none. `path` may end with "/*".
absl::string_view OwnPathTaken(absl::string_view path);

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_VALUES_OWN_PATHS_H_
