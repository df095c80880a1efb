// A client of a session without a socket: it keeps the answer in memory, and can be slow or go.
#ifndef PENSTOCK_TESTS_SESSION_MEMORY_CLIENT_H_
#define PENSTOCK_TESTS_SESSION_MEMORY_CLIENT_H_

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "router/session/client/client.h"

namespace penstock {

class MemoryClient final : public Client {
 public:
  // kLater: takes nothing at once, so every write is finished by waiting.
  enum class Reading { kAtOnce, kLater, kNot };
  Reading reading = Reading::kAtOnce;
  std::string text;  // A whole body, or the events of a stream.
  std::string content_type;
  HeaderList headers;
  ApiError error;
  bool failed = false;
  bool in_parts = false;           // A whole answer came in parts.
  std::optional<uint64_t> length;  // As announced before them.
  size_t longest_part = 0;
  int ends = 0;
  int comments = 0;

  // On the session's loop.
  void Go() {
    gone_ = true;
    if (auto on_gone = std::exchange(on_gone_, nullptr)) on_gone();
  }

  Written Whole(int status, absl::string_view type, const HeaderList& more, absl::string_view body) override {
    Begin(status, more);
    content_type = std::string(type);
    ++ends;
    return Take({body});
  }
  void BeginWhole(absl::string_view type, const HeaderList& more, std::optional<uint64_t> announced) override {
    Begin(200, more);
    content_type = std::string(type);
    length = announced;
    in_parts = true;
  }
  Written Part(absl::string_view bytes) override {
    longest_part = std::max(longest_part, bytes.size());
    return Take({bytes});
  }
  boost::asio::awaitable<bool> FinishWhole() override { return TakeRest(); }
  Written Events(const HeaderList& more, const std::vector<absl::string_view>& pieces) override {
    if (!begun()) Begin(200, more);
    return Take(pieces);
  }
  boost::asio::awaitable<bool> FinishEvents() override { return TakeRest(); }
  boost::asio::awaitable<bool> End() override {
    ++ends;
    co_return !gone_;
  }
  boost::asio::awaitable<bool> Error(const ApiError& given) override {
    if (!begun()) Begin(given.status, HeaderList());
    error = given;
    failed = true;
    ++ends;
    co_return !gone_;
  }
  void KeepAlive(const HeaderList& more) override {
    if (!begun()) Begin(200, more);
    ++comments;
  }

  bool begun() const override { return status_ != 0; }
  int status() const override { return status_; }
  bool gone() const override { return gone_; }
  void Watch(std::function<void()> on_gone) override { on_gone_ = std::move(on_gone); }
  void Unwatch() override { on_gone_ = nullptr; }

 private:
  void Begin(int status, const HeaderList& more) {
    status_ = status;
    headers = more;
  }
  Written Take(const std::vector<absl::string_view>& pieces) {
    if (gone_) return Written::kGone;
    rest_ = pieces;
    if (reading != Reading::kAtOnce) return Written::kPart;
    Append();
    return Written::kAll;
  }
  void Append() {
    for (absl::string_view piece : std::exchange(rest_, {})) absl::StrAppend(&text, piece);
  }
  boost::asio::awaitable<bool> TakeRest() {
    boost::asio::steady_timer moment(co_await boost::asio::this_coro::executor);
    do {
      moment.expires_after(std::chrono::milliseconds(1));
      co_await moment.async_wait(boost::asio::use_awaitable);
    } while (reading == Reading::kNot && !gone_);
    Append();
    co_return !gone_;
  }

  std::vector<absl::string_view> rest_;  // Its bytes live until the client took them.
  std::function<void()> on_gone_;
  int status_ = 0;
  bool gone_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_TESTS_SESSION_MEMORY_CLIENT_H_
