#include "backends/engines/llamacpp/llamacpp_adapter.h"

#include <utility>

#include "backends/dialect/models_list.h"
#include "backends/engines/llamacpp/llamacpp_facts.h"
#include "backends/transport/fetch.h"

namespace penstock {
namespace {

namespace asio = boost::asio;

Capabilities LlamaHabits() {
  Capabilities capabilities;
  capabilities.stream_everything = true;
  capabilities.closes_after_stream = true;
  capabilities.supports_responses = true;
  capabilities.supports_rerank = true;
  capabilities.idle_limit = Duration::Seconds(4);  // It closes at 5 s.
  // A running stream ends within a step of its next event, and a step of many sequences takes tens of milliseconds.
  capabilities.abort_memory_hold = Duration::Milliseconds(100);
  capabilities.tokenize_path = "/tokenize";
  return capabilities;
}

class LlamaCppAdapter : public EngineAdapter {
 public:
  EngineKind kind() const override { return EngineKind::kLlamaCpp; }
  const Capabilities& capabilities() const override { return habits_; }

  asio::awaitable<absl::StatusOr<Discovery>> Discover(UpstreamPool& pool, absl::string_view key) override {
    auto told = co_await FetchGood(pool, "/props", key);
    if (!told.ok()) co_return told.status();
    auto props = ParseLlamaProps(*told);
    if (!props.ok()) co_return props.status();
    auto listed = co_await FetchGood(pool, "/v1/models", key);
    if (!listed.ok()) co_return listed.status();
    auto models = ParseModelsList(*listed);
    if (!models.ok()) co_return models.status();

    Discovery found = DiscoveryFromProps(*props);
    found.models = std::move(models->models);
    capacity_ = found.kv_tokens;
    many_models_ = props->many_models;
    metrics_on_ = slots_on_ = true;  // Until one answers that it is off.
    co_return found;
  }

  asio::awaitable<absl::StatusOr<Observation>> Poll(UpstreamPool& pool, absl::string_view key) override {
    if (many_models_) {
      auto health = co_await FetchGood(pool, "/health", key);
      if (!health.ok()) co_return health.status();
      co_return Observation();
    }
    Observation seen;
    if (metrics_on_) {
      auto metrics = co_await FetchTold(pool, "/metrics", key);
      if (!metrics.ok()) co_return metrics.status();
      seen = ReadLlamaMetrics(*metrics);
      metrics_on_ = seen.running >= 0;
    }
    if (!metrics_on_) {
      auto awake = co_await Awake(pool, key);
      if (!awake.ok()) co_return awake.status();
      if (!*awake) seen.running = 0;
    }
    if (seen.running == 0) {
      seen.kv_used_share = 0;
      seen.kv_used_tokens = 0;
      co_return seen;
    }
    co_return co_await WithSlots(pool, key, seen);
  }

 private:
  static asio::awaitable<absl::StatusOr<bool>> Awake(UpstreamPool& pool, absl::string_view key) {
    auto told = co_await FetchGood(pool, "/props", key);
    if (!told.ok()) co_return told.status();
    auto props = ParseLlamaProps(*told);
    if (!props.ok()) co_return props.status();
    co_return !props->sleeping;
  }

  asio::awaitable<absl::StatusOr<Observation>> WithSlots(UpstreamPool& pool, absl::string_view key, Observation seen) {
    if (!slots_on_) co_return seen;
    auto told = co_await FetchTold(pool, "/slots", key);
    if (!told.ok()) co_return told.status();
    auto slots = ReadLlamaSlots(*told, capacity_);
    slots_on_ = slots.ok();
    if (!slots.ok()) co_return seen;
    slots->waiting = seen.waiting;
    co_return *slots;
  }

  const Capabilities habits_ = LlamaHabits();
  Tokens capacity_{0};
  bool many_models_ = false;
  bool metrics_on_ = true;
  bool slots_on_ = true;
};

}  // namespace

std::unique_ptr<EngineAdapter> MakeLlamaCppAdapter() { return std::make_unique<LlamaCppAdapter>(); }

}  // namespace penstock
