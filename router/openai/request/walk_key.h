// The keys that a visitor of a JsonWalk knows. Pure; no allocation but for escaped keys.
#ifndef PENSTOCK_ROUTER_OPENAI_REQUEST_WALK_KEY_H_
#define PENSTOCK_ROUTER_OPENAI_REQUEST_WALK_KEY_H_

#include <algorithm>
#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"
#include "base/json_string.h"

namespace penstock {

// The position of the key in a list of names of at most 42 bytes; the length of the list where it has another key.
template <class Names>
size_t PositionOfKey(const Names& names, absl::string_view raw, bool escaped) {
  constexpr size_t kLongestEscaped = 256;
  std::string plain;
  if (escaped && raw.size() <= kLongestEscaped) AppendUnescaped(raw, &plain);
  const absl::string_view key = escaped ? absl::string_view(plain) : raw;
  return static_cast<size_t>(std::find(names.begin(), names.end(), key) - names.begin());
}

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_OPENAI_REQUEST_WALK_KEY_H_
