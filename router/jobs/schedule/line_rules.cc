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

// A prompt that is too long for the model's engines of today may be so for ever. Only an engine that nobody heard yet
// keeps it waiting.
bool IsAwaited(const LineResult& result, bool misses_replicas, bool served) {
  if (result.engine_fault) return false;
  return misses_replicas ? result.lacks_model || result.lacks_room : result.lacks_model && served;
}

int FaultsOf(const LineResult& result) {
  if (!result.engine_fault) return 0;
  return result.never_retry || result.unfit ? kCostly : 1;
}

LineEnd EndOf(const LineResult& result, int faults) {
  if (result.status == 0) return LineEnd::kReturned;
  if (http_status::IsSuccess(result.status)) return LineEnd::kAnswered;
  if (result.awaited) return LineEnd::kAgain;
  if (!IsPassing(result.status)) return LineEnd::kFailed;
  if (result.engine_fault) return faults >= kMostFaults ? LineEnd::kFailed : LineEnd::kAgain;
  return result.never_retry ? LineEnd::kFailed : LineEnd::kAgain;
}

}  // namespace penstock::jobs
