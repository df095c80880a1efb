// A client in front of another one, which may leave while the session goes on: for work in the background.
//
// Before Detach() every call passes, and the session ends with its receiver, as any other. After Detach() the session
// lasts until its own end: what the receiver does not take any more is dropped. The receiver lives until Served()
// returned. Attach() makes it the client of its session again. Belongs to the loop of its session.
#ifndef PENSTOCK_ROUTER_SESSION_APART_DETACHABLE_CLIENT_H_
#define PENSTOCK_ROUTER_SESSION_APART_DETACHABLE_CLIENT_H_

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <optional>
#include <vector>

#include "router/live/signal.h"
#include "router/session/client/client.h"

namespace penstock {

class DetachableClient final : public Client {
 public:
  // With `draining`, nobody reads for a receiver that has gone: the engine goes on alone.
  DetachableClient(Client& receiver, boost::asio::io_context& loop, const std::atomic<bool>& draining);

  // The receiver has its whole answer or is gone, and no call of it is under way. One coroutine waits.
  boost::asio::awaitable<void> Served();
  // The session has ended.
  void Finish();

  Written Whole(int status, absl::string_view content_type, const HeaderList& headers, absl::string_view body) override;
  void SetStatus(int status) override;
  void BeginWhole(absl::string_view content_type, const HeaderList& headers, std::optional<uint64_t> length) override;
  Written Part(absl::string_view bytes) override;
  boost::asio::awaitable<bool> FinishWhole() override;
  Written Events(const HeaderList& headers, const std::vector<absl::string_view>& pieces) override;
  boost::asio::awaitable<bool> FinishEvents() override;
  boost::asio::awaitable<bool> End() override;
  boost::asio::awaitable<bool> Error(const ApiError& error) override;
  void KeepAlive(const HeaderList& headers) override;
  void Detach() override;
  void Attach() override;
  bool begun() const override { return receiver_ != nullptr ? receiver_->begun() : begun_; }
  int status() const override { return receiver_ != nullptr ? receiver_->status() : status_; }
  bool gone() const override { return left_ || (receiver_ == nullptr && draining_.load(std::memory_order_relaxed)); }
  void Watch(std::function<void()> on_gone) override;
  void Unwatch() override { on_gone_ = nullptr; }

 private:
  // The result for the session; `last`: the answer is complete with these bytes.
  Written Pass(Written written, bool last);
  bool Settle(bool alive, bool last);
  void OnReceiverGone();
  void Release();

  Client* receiver_;  // Null: nobody reads any more.
  Signal served_;
  const std::atomic<bool>& draining_;
  std::function<void()> on_gone_;
  bool detached_ = false;
  bool left_ = false;       // Before Detach().
  bool under_way_ = false;  // The receiver writes.
  bool last_ = false;       // Its last bytes.
  bool begun_ = false;
  int status_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SESSION_APART_DETACHABLE_CLIENT_H_
