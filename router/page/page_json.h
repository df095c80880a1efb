// The documents of the page as JSON. Pure. docs/openapi.json describes them.
//
// Lists are bounded, and say how much they leave out. A name is cut at JsonWriter::kLongestName.
#ifndef PENSTOCK_ROUTER_PAGE_PAGE_JSON_H_
#define PENSTOCK_ROUTER_PAGE_PAGE_JSON_H_

#include <string>

#include "router/page/page_facts.h"

namespace penstock {

// Most GPUs, replicas, pools, lanes or tenants of one document.
inline constexpr size_t kMostListed = 1024;

std::string FleetJson(const PageFacts& facts);
std::string RequestsJson(const PageFacts& facts);
std::string TenantsJson(const PageFacts& facts);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_PAGE_PAGE_JSON_H_
