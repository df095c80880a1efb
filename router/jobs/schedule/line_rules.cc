#include "router/jobs/schedule/line_rules.h"

#include "router/openai/error/http_status.h"

namespace penstock::jobs {
namespace {

// The statuses that tell of the moment, not of the line.
bool IsPassing(int status) {
  if (status == http_status::kNotImplemented) return false;
  return http_status::IsServerError(status) || status == http_status::kRequestTimeout ||
         status == http_status::kTooManyRequests;
}

}  // namespace

int FaultsOf(const LineResult& result) {
  if (!result.engine_fault) return 0;
  return result.never_retry || result.unfit ? kCostly : 1;
}

LineEnd EndOf(const LineResult& result, int faults) {
  if (result.status == 0) return LineEnd::kReturned;
  if (http_status::IsSuccess(result.status)) return LineEnd::kAnswered;
  if (!IsPassing(result.status)) return LineEnd::kFailed;
  if (result.engine_fault) return faults >= kMostFaults ? LineEnd::kFailed : LineEnd::kAgain;
  return result.never_retry ? LineEnd::kFailed : LineEnd::kAgain;
}

}  // namespace penstock::jobs
