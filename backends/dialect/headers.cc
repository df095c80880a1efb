#include "backends/dialect/headers.h"

namespace penstock {

absl::string_view FindHeader(const HeaderList& headers, absl::string_view name) {
  const char* const text = headers.text_.data();
  for (const HeaderList::Place& place : headers.places_) {
    if (!SameHeaderName(absl::string_view(text + place.at, place.name), name)) continue;
    return absl::string_view(text + place.at + place.name, place.value);
  }
  return "";
}

}  // namespace penstock
