// A client at an even pace on a loop, to which a test hands the tokens of an engine.
#ifndef PENSTOCK_TESTS_SESSION_PACED_STREAM_H_
#define PENSTOCK_TESTS_SESSION_PACED_STREAM_H_

#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/fair_budget.h"
#include "router/session/paced_client.h"
#include "tests/session/session_world.h"

namespace penstock {

inline constexpr Duration kPacedTtft = Duration::Seconds(10);

inline std::string EventOf(int token) { return absl::StrCat("data: ", token, "\n\n"); }

class PacedStream {
 public:
  explicit PacedStream(Duration tpot, Config config = ConfigOf("http://127.0.0.1:1"))
      : world_(std::move(config)), tpot_(tpot) {
    world_.Call([this] {
      state_.emplace(world_.loop(), client, SessionRequest{Endpoint::kChat, &headers_, "{}", "req-1"});
      paced_.emplace(*state_, client, Pace{state_->arrival, kPacedTtft, tpot_},
                     [this](int64_t tokens, Instant) { reached_ += tokens; });
    });
  }
  ~PacedStream() {
    world_.Call([this] {
      paced_.reset();
      state_.reset();
    });
  }

  // The engine's tokens from `from` to before `to`, one by one.
  void Tokens(int from, int to) {
    for (int token = from; token < to; ++token) ASSERT_EQ(Read(token, token + 1), Written::kAll);
  }
  // The same in one read.
  Written Read(int from, int to, int64_t tokens_per_event = 1) {
    Written written = Written::kGone;
    world_.Call([&] {
      std::string events;
      for (int token = from; token < to; ++token) absl::StrAppend(&events, EventOf(token));
      paced_->Expect(to - from, (to - from) * tokens_per_event);
      written = paced_->Events(HeaderList(), {events});
      state_->answer.delivered += to - from;
    });
    return written;
  }
  // The tokens that the client has: "0,1,2,".
  std::string Text() {
    std::string text;
    world_.Call([&] { text = client.text; });
    return absl::StrReplaceAll(text, {{"data: ", ""}, {"\n\n", ","}});
  }
  // The tokens that reached it after a wait.
  int64_t reached() {
    int64_t tokens = 0;
    world_.Call([&] { tokens = reached_; });
    return tokens;
  }
  std::future<bool> FinishEvents() {
    return Spawn([this]() -> asio::awaitable<bool> { return paced_->FinishEvents(); });
  }
  // From now on the client takes nothing until ReadOn().
  void Stick() {
    world_.Call([this] { client.reading = MemoryClient::Reading::kNot; });
  }
  void ReadOn() {
    world_.Call([this] { client.reading = MemoryClient::Reading::kAtOnce; });
  }
  void Cut() {
    world_.Call([this] { paced_->Cut(); });
  }
  bool cut_short() {
    bool cut = false;
    world_.Call([&] { cut = paced_->cut_short(); });
    return cut;
  }
  // Tells whether the end reached the client.
  std::future<bool> End() {
    return Spawn([this]() -> asio::awaitable<bool> { return paced_->End(); });
  }
  std::future<bool> Error(const ApiError& error) {
    return Spawn([this, &error]() -> asio::awaitable<bool> { return paced_->Error(error); });
  }
  void Go() {
    world_.Call([this] {
      paced_->Watch([] {});
      client.Go();
    });
  }
  // Other answers hold so much of the budget.
  void OthersHold(Bytes bytes, Bytes limit) {
    world_.Call([&] {
      others_ = FairShare(&world_.edge().answers, 1);
      ASSERT_TRUE(others_.GrowTo(bytes, limit));
    });
  }
  void Drain() { world_.edge().draining = true; }

  MemoryClient client;

 private:
  std::future<bool> Spawn(std::function<asio::awaitable<bool>()> what) {
    auto promise = std::make_shared<std::promise<bool>>();
    std::future<bool> future = promise->get_future();
    asio::co_spawn(world_.loop().io(), Run(std::move(what), promise), asio::detached);
    return future;
  }
  static asio::awaitable<void> Run(std::function<asio::awaitable<bool>()> what,
                                   std::shared_ptr<std::promise<bool>> promise) {
    const bool alive = co_await what();
    promise->set_value(alive);
  }

  SessionWorld world_;
  const Duration tpot_;
  const HeaderList headers_;
  std::optional<SessionState> state_;
  std::optional<PacedClient> paced_;
  FairShare others_;
  int64_t reached_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_TESTS_SESSION_PACED_STREAM_H_
