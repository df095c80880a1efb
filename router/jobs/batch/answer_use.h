// The tokens of a line's answer, as its usage tells. Pure.
#ifndef PENSTOCK_ROUTER_JOBS_BATCH_ANSWER_USE_H_
#define PENSTOCK_ROUTER_JOBS_BATCH_ANSWER_USE_H_

#include "absl/strings/string_view.h"
#include "router/jobs/store/job_values.h"

namespace penstock::jobs {

// Zero where the body has no usage, or no possible count. Costs a pass over the body.
TokenUse UseOf(absl::string_view body);

}  // namespace penstock::jobs

#endif  // PENSTOCK_ROUTER_JOBS_BATCH_ANSWER_USE_H_
