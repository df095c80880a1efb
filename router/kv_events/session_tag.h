// The name by which an engine's events tell the request that they belong to.
//
// vLLM takes X-Session-ID of a request as its session, and names it in the events of the blocks that the request
// stores. The name is that of the router's process and the request: nothing of a client. Pure.
#ifndef PENSTOCK_ROUTER_KV_EVENTS_SESSION_TAG_H_
#define PENSTOCK_ROUTER_KV_EVENTS_SESSION_TAG_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/ids.h"

namespace penstock {

inline constexpr absl::string_view kSessionTagHeader = "X-Session-ID";

// `router` names the process.
inline std::string SessionTag(absl::string_view router, RequestId request) {
  return absl::StrCat(router, ".", request.value());
}

// Nullopt: the name is of another router or of a client.
inline std::optional<RequestId> RequestOfTag(absl::string_view router, absl::string_view tag) {
  uint64_t number = 0;
  const bool own = absl::ConsumePrefix(&tag, router) && absl::ConsumePrefix(&tag, ".");
  if (!own || !absl::SimpleAtoi(tag, &number)) return std::nullopt;
  return RequestId(number);
}

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_KV_EVENTS_SESSION_TAG_H_
