// The target of a load: an OpenAI endpoint by URL, and small plain exchanges with it (models, metrics).
#ifndef PENSTOCK_BENCH_LOAD_LOAD_TARGET_H_
#define PENSTOCK_BENCH_LOAD_LOAD_TARGET_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/units.h"

namespace penstock::bench {

struct LoadTarget {
  std::string url;  // As given, without a trailing slash.
  std::string host;
  std::string port = "80";
  std::string api;   // Path in front of `/chat/completions`: "/v1", or "/prefix/v1".
  std::string root;  // Path in front of `/metrics`: "" or "/prefix".
  // Every request has them; an Authorization among them stands in for the key of the tenant.
  std::vector<std::pair<std::string, std::string>> headers;
  std::string Authority() const { return host + ":" + port; }
};

// http://HOST[:PORT][/PREFIX][/v1]; IPv6 hosts in brackets. InvalidArgument names the mistake.
absl::StatusOr<LoadTarget> ParseLoadTarget(absl::string_view url);

// Blocking GET, the body of a 200 answer. Unavailable when the target cannot be reached or is too slow.
absl::StatusOr<std::string> FetchText(const LoadTarget& target, const std::string& path, Duration timeout);

// The sum of a counter's samples over all label sets in Prometheus text; nullopt when there is none.
std::optional<double> SumOfMetric(absl::string_view exposition, absl::string_view name);

// Preemptions so far: penstock_replica_preemptions_total of a router, vllm:num_preemptions_total of an engine.
// nullopt when the target has no such counter or no metrics at all.
std::optional<int64_t> FetchPreemptions(const LoadTarget& target);

// The names of the models that the target lists.
absl::StatusOr<std::vector<std::string>> FetchModels(const LoadTarget& target);

// The name of the first model that the target serves.
absl::StatusOr<std::string> FetchFirstModel(const LoadTarget& target);

// The sum over the targets; nullopt when one reports none.
std::optional<int64_t> SumPreemptions(const std::vector<LoadTarget>& targets);

}  // namespace penstock::bench

#endif  // PENSTOCK_BENCH_LOAD_LOAD_TARGET_H_
