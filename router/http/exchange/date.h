// The parts that heads of answers share in all versions of HTTP.
#ifndef PENSTOCK_ROUTER_HTTP_EXCHANGE_DATE_H_
#define PENSTOCK_ROUTER_HTTP_EXCHANGE_DATE_H_

#include "absl/strings/string_view.h"

namespace penstock {

// The present second in the form of RFC 9110: Sun, 06 Nov 1994 08:49:37 GMT. Made once per second and thread; valid
// until the thread's next call.
absl::string_view DateNow();

// The byte would end a header field, or make it unreadable. One comparison for the bytes of most values.
constexpr bool EndsField(char c) {
  return static_cast<unsigned char>(c) <= '\r' && (c == '\r' || c == '\n' || c == '\0');
}

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_EXCHANGE_DATE_H_
