#include "backends/engines/tgi/tgi_adapter.h"

#include "backends/engines/tgi/tgi_facts.h"
#include "backends/transport/fetch.h"

namespace penstock {
namespace {

namespace asio = boost::asio;

Capabilities TgiHabits() {
  Capabilities capabilities;
  capabilities.continues_final_message = false;
  capabilities.supports_embeddings = false;
  capabilities.abort_memory_hold = Duration::Milliseconds(100);
  capabilities.tokenize_path = "/tokenize";
  return capabilities;
}

class TgiAdapter : public EngineAdapter {
 public:
  EngineKind kind() const override { return EngineKind::kTgi; }
  const Capabilities& capabilities() const override { return habits_; }

  asio::awaitable<absl::StatusOr<Discovery>> Discover(UpstreamPool& pool, absl::string_view key) override {
    auto info = co_await FetchGood(pool, "/info", key);
    if (!info.ok()) co_return info.status();
    auto found = ParseTgiInfo(*info);
    if (!found.ok()) co_return found.status();
    auto metrics = co_await FetchGood(pool, "/metrics", key);
    if (metrics.ok()) found->kv_tokens = TgiPool(*metrics);
    co_return found;
  }

  asio::awaitable<absl::StatusOr<Observation>> Poll(UpstreamPool& pool, absl::string_view key) override {
    auto metrics = co_await FetchTold(pool, "/metrics", key);
    if (!metrics.ok()) co_return metrics.status();
    co_return ReadTgiObservation(*metrics);
  }

 private:
  const Capabilities habits_ = TgiHabits();
};

}  // namespace

std::unique_ptr<EngineAdapter> MakeTgiAdapter() { return std::make_unique<TgiAdapter>(); }

}  // namespace penstock
