// The pages of Ollama's own API about one model or the router; ModelList has its lists. Pure.
#ifndef PENSTOCK_ROUTER_OLLAMA_PAGES_H_
#define PENSTOCK_ROUTER_OLLAMA_PAGES_H_

#include <string>

#include "absl/strings/string_view.h"
#include "router/live/fleet_view.h"

namespace penstock::ollama {

// The release of Ollama whose dialect this is.
inline constexpr absl::string_view kDialect = "0.9.0";

// /api/version: a router that reads it must not take this one for Ollama, so it names Penstock too.
std::string VersionJson(absl::string_view version);
// /api/show of a model that the fleet has. `since` is its time as text.
std::string ShowJson(const FleetView& fleet, absl::string_view name, absl::string_view since);

}  // namespace penstock::ollama

#endif  // PENSTOCK_ROUTER_OLLAMA_PAGES_H_
