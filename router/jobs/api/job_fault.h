// Failures of the job store as answers to clients. Pure.
#ifndef PENSTOCK_ROUTER_JOBS_API_JOB_FAULT_H_
#define PENSTOCK_ROUTER_JOBS_API_JOB_FAULT_H_

#include "absl/strings/string_view.h"
#include "router/jobs/store/job_error.h"
#include "router/openai/error/api_error.h"

namespace penstock::jobs {

// A fault of the store names no path to the client: its message is for the log. `param`: the field with the id.
ApiError FaultOf(const JobError& error, absl::string_view param = "");
// The router has no job store.
ApiError JobsOff();

}  // namespace penstock::jobs

#endif  // PENSTOCK_ROUTER_JOBS_API_JOB_FAULT_H_
