// The document of the shadow as JSON. Pure. docs/openapi.json describes it, docs/shadow.md defines the figures.
#ifndef PENSTOCK_ROUTER_PAGE_SHADOW_JSON_H_
#define PENSTOCK_ROUTER_PAGE_SHADOW_JSON_H_

#include <string>

#include "router/page/page_facts.h"

namespace penstock {

std::string ShadowJson(const PageFacts& facts);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_PAGE_SHADOW_JSON_H_
