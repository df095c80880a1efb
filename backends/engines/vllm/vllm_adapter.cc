#include "backends/engines/vllm/vllm_adapter.h"

#include <utility>

#include "backends/dialect/json_values.h"
#include "backends/dialect/models_list.h"
#include "backends/engines/vllm/vllm_facts.h"
#include "backends/transport/fetch.h"

namespace penstock {
namespace {

namespace asio = boost::asio;

Capabilities VllmHabits() {
  Capabilities capabilities;
  capabilities.supports_responses = true;
  capabilities.supports_rerank = true;
  capabilities.abort_memory_hold = Duration::Milliseconds(50);
  capabilities.tokenize_path = "/tokenize";
  return capabilities;
}

class VllmAdapter : public EngineAdapter {
 public:
  EngineKind kind() const override { return EngineKind::kVllm; }
  const Capabilities& capabilities() const override { return habits_; }

  asio::awaitable<absl::StatusOr<Discovery>> Discover(UpstreamPool& pool, absl::string_view key) override {
    auto listed = co_await FetchGood(pool, "/v1/models", key);
    if (!listed.ok()) co_return listed.status();
    auto models = ParseModelsList(*listed);
    if (!models.ok()) co_return models.status();
    Discovery found;
    found.kind = EngineKind::kVllm;
    found.models = std::move(models->models);
    // Neither the version nor the metrics are needed to serve.
    auto version = co_await FetchGood(pool, "/version", key);
    if (version.ok()) found.version = MemberText(ParseEngineJson(*version), "version");
    auto metrics = co_await FetchGood(pool, "/metrics", key);
    if (metrics.ok()) ReadVllmCapacity(*metrics, &found);
    co_return found;
  }

  asio::awaitable<absl::StatusOr<Observation>> Poll(UpstreamPool& pool, absl::string_view key) override {
    auto metrics = co_await FetchTold(pool, "/metrics", key);
    if (!metrics.ok()) co_return metrics.status();
    co_return ReadVllmObservation(*metrics);
  }

 private:
  const Capabilities habits_ = VllmHabits();
};

}  // namespace

std::unique_ptr<EngineAdapter> MakeVllmAdapter() { return std::make_unique<VllmAdapter>(); }

}  // namespace penstock
