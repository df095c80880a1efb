#include "backends/engines/openai/openai_adapter.h"

#include <utility>

#include "backends/dialect/models_list.h"
#include "backends/transport/fetch.h"

namespace penstock {
namespace {

namespace asio = boost::asio;

Capabilities OpenAiHabits() {
  Capabilities capabilities;
  capabilities.continues_final_message = false;
  capabilities.supports_responses = true;  // Unknown: its own 404 is the honest answer.
  capabilities.supports_rerank = true;
  capabilities.abort_memory_hold = Duration::Seconds(1);
  capabilities.health_path = "/v1/models";
  return capabilities;
}

class OpenAiAdapter : public EngineAdapter {
 public:
  EngineKind kind() const override { return EngineKind::kOpenAi; }
  const Capabilities& capabilities() const override { return habits_; }

  asio::awaitable<absl::StatusOr<Discovery>> Discover(UpstreamPool& pool, absl::string_view key) override {
    auto listed = co_await FetchGood(pool, "/v1/models", key);
    if (!listed.ok()) co_return listed.status();
    auto models = ParseModelsList(*listed);
    if (!models.ok()) co_return models.status();
    Discovery found;
    found.models = std::move(models->models);
    co_return found;
  }

  asio::awaitable<absl::StatusOr<Observation>> Poll(UpstreamPool& pool, absl::string_view key) override {
    auto listed = co_await FetchTold(pool, "/v1/models", key);
    if (!listed.ok()) co_return listed.status();
    co_return Observation();
  }

 private:
  const Capabilities habits_ = OpenAiHabits();
};

}  // namespace

std::unique_ptr<EngineAdapter> MakeOpenAiAdapter() { return std::make_unique<OpenAiAdapter>(); }

}  // namespace penstock
