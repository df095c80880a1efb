// The errors of whole batches as JSON lists, and those of lines whose window ended. Pure.
#ifndef PENSTOCK_ROUTER_JOBS_RUN_BATCH_ERRORS_H_
#define PENSTOCK_ROUTER_JOBS_RUN_BATCH_ERRORS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "router/jobs/run/job.h"

namespace penstock::jobs {

// The JSON array `errors.data`; empty for none.
std::string ListOf(const std::vector<std::string>& errors);
// The elements of such an array.
std::vector<std::string> ErrorsOf(absl::string_view list);
// The outputs of the batch are too large.
std::string TooLargeError(const std::string& message);
std::string TooLargeList(const Job& job);
// Lines that nobody has read are in no file, so the batch itself tells of them.
std::string UnreadError(const Job& job);
LineAnswer ExpiredAnswer(const Job& job, const LineTask& task);

}  // namespace penstock::jobs

#endif  // PENSTOCK_ROUTER_JOBS_RUN_BATCH_ERRORS_H_
