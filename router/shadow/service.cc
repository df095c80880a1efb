#include "router/shadow/service.h"

#include <algorithm>
#include <cmath>

namespace penstock {
namespace {

// Of `tokens`, those whose slack first + i * gain is not negative; i counts from zero.
double TimelyOf(int64_t tokens, double first, double gain) {
  const double all = static_cast<double>(tokens);
  if (gain >= 0) {
    if (first >= 0) return all;
    return gain == 0 ? 0 : std::max(0.0, all - std::ceil(-first / gain));
  }
  return first < 0 ? 0 : std::min(all, std::floor(first / -gain) + 1);
}

}  // namespace

Service ServiceOf(const ServiceTimes& times, Duration ttft_goal, Duration tpot_goal) {
  Service service;
  service.finished = times.finished;
  const Instant first = times.first.value_or(times.end);
  if (times.finished || times.first) service.ttft = (first - times.arrived).seconds();
  if (!times.finished) {
    service.abandoned = static_cast<double>(times.tokens);
    return service;
  }
  const double slack = (times.arrived + ttft_goal - first).seconds();
  const double gaps = static_cast<double>(std::max<int64_t>(1, times.tokens - 1));
  const double gap = times.tokens > 1 ? (times.end - first).seconds() / gaps : 0;
  service.active = TimelyOf(times.tokens, slack, tpot_goal.seconds() - gap);
  service.late = static_cast<double>(times.tokens) - service.active;
  service.on_time = slack >= 0 && service.late == 0;
  return service;
}

}  // namespace penstock
