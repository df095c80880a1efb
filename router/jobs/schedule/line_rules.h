// The meaning of one answer to a line: it is final, or the line is tried again. Pure.
//
// An answer is final where it ended well, or where the line itself is at fault. The fleet may lack the model of a line,
// or room for it, for the moment only. An engine was not heard yet, or a reload removed it. A refusal of the router and
// a fault of an engine are never the answer of a line while its batch has time. Only a line with kMostFaults faults of
// engines is given up, because it may be their cause. A run that cost several engines counts kCostly faults, and so
// does one whose stream makes no answer: such a line runs twice.
#ifndef PENSTOCK_ROUTER_JOBS_SCHEDULE_LINE_RULES_H_
#define PENSTOCK_ROUTER_JOBS_SCHEDULE_LINE_RULES_H_

#include <cstdint>
#include <optional>

#include "base/units.h"

namespace penstock::jobs {

inline constexpr int kMostFaults = 6;
inline constexpr int kCostly = 3;

// One run of a line, as its client saw it.
struct LineResult {
  int status = 0;             // 0: it ended without an answer, because the router ends or the batch does.
  bool never_retry = false;   // Another run would repeat effects, or cost further engines.
  bool engine_fault = false;  // An engine took the line and failed.
  bool unfit = false;         // Its stream makes no answer. Another run most likely ends alike.
  bool lacks_model = false;   // No replica that the router knows serves its model.
  bool lacks_room = false;    // It is too long for those that the router knows.
  bool awaited = false;       // A replica may come, or come back, that can serve it.
  std::optional<Duration> retry_after;
};

enum class LineEnd : uint8_t {
  kAnswered,  // For the output file.
  kFailed,    // For the error file.
  kAgain,     // Later.
  kReturned,  // The line did not run.
};

// True: a line that was refused for what the fleet lacks may be served later. Some replicas may not have been heard
// yet, or a line of its model had an answer before (`served`).
bool IsAwaited(const LineResult& result, bool misses_replicas, bool served);
// The faults of engines that this run adds.
int FaultsOf(const LineResult& result);
// `faults`: those of all runs of the line, this one included.
LineEnd EndOf(const LineResult& result, int faults);

}  // namespace penstock::jobs

#endif  // PENSTOCK_ROUTER_JOBS_SCHEDULE_LINE_RULES_H_
