#include "backends/openai/openai_adapter.h"

#include <utility>

#include "backends/openai/models_list.h"
#include "backends/pool/fetch.h"

namespace penstock {
namespace {

namespace asio = boost::asio;

Habits OpenAiHabits() {
  Habits habits;
  habits.continues_final_message = false;
  habits.supports_responses = true;  // Unknown: its own 404 is the honest answer.
  habits.supports_rerank = true;
  habits.abort_memory_hold = Duration::Seconds(1);
  habits.health_path = "/v1/models";
  return habits;
}

class OpenAiAdapter : public EngineAdapter {
 public:
  EngineKind kind() const override { return EngineKind::kOpenAi; }
  const Habits& habits() const override { return habits_; }

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
  const Habits habits_ = OpenAiHabits();
};

}  // namespace

std::unique_ptr<EngineAdapter> MakeOpenAiAdapter() { return std::make_unique<OpenAiAdapter>(); }

}  // namespace penstock
