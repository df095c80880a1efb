// Values as columns of the database. Pure.
#ifndef PENSTOCK_ROUTER_JOBS_STORE_COLUMNS_H_
#define PENSTOCK_ROUTER_JOBS_STORE_COLUMNS_H_

#include <cstdint>
#include <optional>

#include "router/jobs/store/job_values.h"

namespace penstock::jobs {

inline int64_t Column(TenantId tenant) { return static_cast<int64_t>(tenant.value()); }

// Whole seconds.
inline int64_t Column(Duration time) { return time.nanoseconds() / 1'000'000'000; }
inline std::optional<int64_t> Column(const std::optional<Duration>& time) {
  return time ? std::optional<int64_t>(Column(*time)) : std::nullopt;
}

inline std::optional<int64_t> Column(const std::optional<UnixSeconds>& time) {
  return time ? std::optional<int64_t>(time->value()) : std::nullopt;
}

}  // namespace penstock::jobs

#endif  // PENSTOCK_ROUTER_JOBS_STORE_COLUMNS_H_
