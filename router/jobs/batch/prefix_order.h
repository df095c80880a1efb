// A number for the order of lines, so that lines whose prompts begin alike run together. Pure.
//
// The number has four levels: the first 256 bytes of the prompt, the first 1, 4 and 16 KiB. Lines that are equal on a
// level have the same leading bits, so they stand side by side. Among them, those do that are equal on the next level.
#ifndef PENSTOCK_ROUTER_JOBS_BATCH_PREFIX_ORDER_H_
#define PENSTOCK_ROUTER_JOBS_BATCH_PREFIX_ORDER_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "router/openai/request/request_scan.h"

namespace penstock::jobs {

// `facts` are those of the body. Zero: it has no prompt.
uint64_t PrefixOrder(absl::string_view body, const RequestFacts& facts);

}  // namespace penstock::jobs

#endif  // PENSTOCK_ROUTER_JOBS_BATCH_PREFIX_ORDER_H_
