#include "backends/simulated/face/sleep_pages.h"

#include <algorithm>
#include <array>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <string>
#include <utility>

#include "backends/simulated/face/adapter_pages.h"
#include "base/clock.h"

namespace penstock::simulated {
namespace {

namespace asio = boost::asio;
using Play = SleepState::Play;

// A client gives up long before.
constexpr Duration kNever = Duration::Seconds(86'400);

asio::awaitable<void> Pass(Duration time) {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  timer.expires_after(ToChrono(time));
  co_await timer.async_wait(asio::use_awaitable);
}

Page Failed(const Engine& engine, const std::string& message) {
  return ErrorPage({500, message, "InternalServerError", "", {}}, engine);
}

Page Choose(std::string_view query, Engine& engine) {
  constexpr std::array<std::pair<std::string_view, Play>, 4> kPlays = {
      {{"play=well", Play::kWell}, {"play=fail", Play::kFail}, {"play=never", Play::kNever}, {"play=lie", Play::kLie}}};
  for (const auto& [text, play] : kPlays) {
    if (query != text) continue;
    engine.sleep().SetPlay(play);
    return {200, ""};
  }
  return ErrorPage({400, "play is one of well, fail, never, lie", "Bad Request", "play", {}}, engine);
}

// Both verbs. `engine` lives through them.
asio::awaitable<Page> PlayVerb(bool wakes, Engine& engine) {
  if (engine.sleep().play() == Play::kLie) co_return Page{200, ""};
  if (engine.sleep().play() == Play::kNever) co_await Pass(kNever);
  if (engine.sleep().play() == Play::kFail) co_return Failed(engine, "EngineCore encountered an issue.");
  if (!wakes) {
    engine.sleep().Sleep();
    co_return Page{200, ""};
  }
  if (engine.sleep().asleep()) co_await Pass(engine.sleep().wake_time());
  if (!engine.Wake()) co_return Failed(engine, "CUDA Error: out of memory");
  co_return Page{200, ""};
}

}  // namespace

asio::awaitable<Page> AnswerAnyPage(PageRequest request, std::shared_ptr<Engine> engine) {
  const bool post = request.method == "POST";
  if (!engine->spec().LlamaDialect() && IsAdapterRoute(request)) {
    Page page = co_await AnswerAdapterRoute(request, engine);
    co_return page;
  }
  if (engine->sleep().has_verbs() && !engine->spec().LlamaDialect()) {
    if (post && request.path == "/simulated/sleep") co_return Choose(request.query, *engine);
    if (post && request.path == "/sleep") co_return co_await PlayVerb(false, *engine);
    // Weights that a sleep dropped are read again between two parts of a wake.
    if (post && request.path == "/collective_rpc") co_return Page{200, R"({"results":[null]})"};
    if (post && request.path == "/wake_up") co_return co_await PlayVerb(true, *engine);
    if (!post && request.path == "/is_sleeping") {
      co_return Page{200, engine->sleep().says_asleep() ? R"({"is_sleeping":true})" : R"({"is_sleeping":false})"};
    }
  }
  co_return AnswerPage(request, *engine);
}

}  // namespace penstock::simulated
