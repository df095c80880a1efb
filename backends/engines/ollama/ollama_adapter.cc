#include "backends/engines/ollama/ollama_adapter.h"

#include <utility>

#include "backends/engines/ollama/ollama_facts.h"
#include "backends/transport/fetch.h"

namespace penstock {
namespace {

namespace asio = boost::asio;

Capabilities OllamaHabits() {
  Capabilities capabilities;
  capabilities.supports_responses = true;
  capabilities.abort_memory_hold = Duration::Milliseconds(100);
  capabilities.health_path = "/api/version";
  return capabilities;
}

class OllamaAdapter : public EngineAdapter {
 public:
  EngineKind kind() const override { return EngineKind::kOllama; }
  const Capabilities& capabilities() const override { return habits_; }

  asio::awaitable<absl::StatusOr<Discovery>> Discover(UpstreamPool& pool, absl::string_view key) override {
    auto version = co_await FetchGood(pool, "/api/version", key);
    if (!version.ok()) co_return version.status();
    auto tags = co_await FetchGood(pool, "/api/tags", key);
    if (!tags.ok()) co_return tags.status();
    auto loaded = co_await FetchGood(pool, "/api/ps", key);
    auto models = ParseOllamaModels(*tags, loaded.ok() ? *loaded : std::string());
    if (!models.ok()) co_return models.status();
    Discovery found;
    found.kind = EngineKind::kOllama;
    found.version = ParseOllamaVersion(*version);
    found.models = *std::move(models);
    co_return found;
  }

  asio::awaitable<absl::StatusOr<Observation>> Poll(UpstreamPool& pool, absl::string_view key) override {
    auto version = co_await FetchGood(pool, "/api/version", key);
    if (!version.ok()) co_return version.status();
    co_return Observation();
  }

 private:
  const Capabilities habits_ = OllamaHabits();
};

}  // namespace

std::unique_ptr<EngineAdapter> MakeOllamaAdapter() { return std::make_unique<OllamaAdapter>(); }

}  // namespace penstock
