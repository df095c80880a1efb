#include "backends/engines/sglang/sglang_adapter.h"

#include <utility>

#include "backends/dialect/models_list.h"
#include "backends/engines/sglang/sglang_facts.h"
#include "backends/transport/fetch.h"

namespace penstock {
namespace {

namespace asio = boost::asio;

Capabilities SglangHabits() {
  Capabilities capabilities;
  capabilities.supports_responses = true;
  capabilities.supports_rerank = true;
  capabilities.abort_memory_hold = Duration::Seconds(4);
  capabilities.health_path = "/model_info";
  capabilities.tokenize_path = "/tokenize";
  return capabilities;
}

class SglangAdapter : public EngineAdapter {
 public:
  EngineKind kind() const override { return EngineKind::kSglang; }
  const Capabilities& capabilities() const override { return habits_; }

  asio::awaitable<absl::StatusOr<Discovery>> Discover(UpstreamPool& pool, absl::string_view key) override {
    auto listed = co_await FetchGood(pool, "/v1/models", key);
    if (!listed.ok()) co_return listed.status();
    auto models = ParseModelsList(*listed);
    if (!models.ok()) co_return models.status();
    auto info = co_await FetchGood(pool, "/server_info", key);
    if (!info.ok()) info = co_await FetchGood(pool, "/get_server_info", key);
    if (!info.ok()) co_return info.status();
    auto found = ParseSglangServerInfo(*info);
    if (found.ok()) found->models = std::move(models->models);
    co_return found;
  }

  asio::awaitable<absl::StatusOr<Observation>> Poll(UpstreamPool& pool, absl::string_view key) override {
    auto loads = co_await FetchTold(pool, "/v1/loads", key);
    if (!loads.ok()) co_return loads.status();
    auto seen = ReadSglangLoads(*loads);
    co_return seen.ok() ? *seen : Observation();  // Releases before /v1/loads tell nothing.
  }

 private:
  const Capabilities habits_ = SglangHabits();
};

}  // namespace

std::unique_ptr<EngineAdapter> MakeSglangAdapter() { return std::make_unique<SglangAdapter>(); }

}  // namespace penstock
