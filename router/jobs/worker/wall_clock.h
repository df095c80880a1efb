// The wall clock of jobs. Any thread.
#ifndef PENSTOCK_ROUTER_JOBS_WORKER_WALL_CLOCK_H_
#define PENSTOCK_ROUTER_JOBS_WORKER_WALL_CLOCK_H_

#include <chrono>

#include "router/jobs/store/job_values.h"

namespace penstock::jobs {

inline UnixSeconds WallSeconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return UnixSeconds(std::chrono::duration_cast<std::chrono::seconds>(now).count());
}

}  // namespace penstock::jobs

#endif  // PENSTOCK_ROUTER_JOBS_WORKER_WALL_CLOCK_H_
