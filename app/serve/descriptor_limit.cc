#include "app/serve/descriptor_limit.h"

#include <sys/resource.h>

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

// Listeners, epoll sets, timers, logs and files; a small limit leaves them a third.
constexpr int64_t kReserve = 128;
constexpr int64_t kReservePart = 3;
// Spare connections, and the part of a small limit that they may take.
constexpr int64_t kSpare = 64;
constexpr int64_t kSparePart = 8;
// The connections for polls, and one in the making.
constexpr int64_t kPerReplica = 4;

}  // namespace

int64_t RaiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::numeric_limits<int>::max();
  if (limit.rlim_cur != limit.rlim_max) {
    const rlimit raised{limit.rlim_max, limit.rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  return static_cast<int64_t>(std::min<rlim_t>(limit.rlim_cur, std::numeric_limits<int>::max()));
}

int SpareConnections(int64_t descriptors) {
  return static_cast<int>(std::clamp<int64_t>(descriptors / kSparePart, 1, kSpare));
}

std::string FitToDescriptors(int64_t descriptors, Config& config) {
  const bool inside = std::any_of(config.replicas.begin(), config.replicas.end(), [](const ReplicaConfig& replica) {
    return replica.simulated && replica.url.empty();
  });
  const int64_t per_client = inside ? 3 : 2;
  const int64_t kept = SpareConnections(descriptors) + std::min(kReserve, descriptors / kReservePart) +
                       kPerReplica * static_cast<int64_t>(config.replicas.size());
  const int64_t fit = std::max<int64_t>(1, (descriptors - kept) / per_client);
  const int wanted = config.limits.max_connections;
  if (wanted <= fit) return "";
  config.limits.max_connections = static_cast<int>(fit);
  return absl::StrCat("limits.max_connections is ", wanted, ", but ", descriptors, " descriptors (ulimit -n) allow ",
                      fit, ": ", fit, " holds");
}

}  // namespace penstock
