// The check that a text is one JSON value, by the grammar of RFC 8259. Pure.
#ifndef PENSTOCK_ROUTER_JOBS_BATCH_JSON_CHECK_H_
#define PENSTOCK_ROUTER_JOBS_BATCH_JSON_CHECK_H_

#include "absl/strings/string_view.h"

namespace penstock::jobs {

// Takes numbers of any size and nesting of any depth. A lone surrogate is no character. Two passes over the text; a bit
// of memory for each open bracket.
bool IsJsonValue(absl::string_view text);

}  // namespace penstock::jobs

#endif  // PENSTOCK_ROUTER_JOBS_BATCH_JSON_CHECK_H_
