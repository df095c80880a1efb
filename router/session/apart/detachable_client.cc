#include "router/session/apart/detachable_client.h"

#include <utility>

namespace penstock {
namespace asio = boost::asio;

DetachableClient::DetachableClient(Client& receiver, asio::io_context& loop, const std::atomic<bool>& draining)
    : receiver_(&receiver), served_(loop), draining_(draining) {
  receiver.Watch([this] { OnReceiverGone(); });
}

asio::awaitable<void> DetachableClient::Served() {
  while (receiver_ != nullptr) co_await served_.Wait();
}

void DetachableClient::Finish() { Release(); }

void DetachableClient::Detach() {
  if (!left_) detached_ = true;
}

void DetachableClient::Attach() {
  if (!std::exchange(detached_, false) || receiver_ != nullptr) return;
  left_ = true;
  if (auto on_gone = std::exchange(on_gone_, nullptr)) on_gone();
}

void DetachableClient::Release() {
  if (receiver_ == nullptr) return;
  begun_ = receiver_->begun();
  status_ = receiver_->status();
  receiver_->Unwatch();
  receiver_ = nullptr;
  served_.Notify();
}

void DetachableClient::OnReceiverGone() {
  if (detached_) {
    if (!under_way_) Release();
    return;
  }
  left_ = true;
  if (auto on_gone = std::exchange(on_gone_, nullptr)) on_gone();
}

void DetachableClient::Watch(std::function<void()> on_gone) {
  if (left_) return on_gone();
  on_gone_ = std::move(on_gone);
}

Written DetachableClient::Pass(Written written, bool last) {
  under_way_ = written == Written::kPart;
  last_ = last;
  if (written == Written::kPart) return written;
  if (written == Written::kGone && !detached_) return written;
  if (last || written == Written::kGone) Release();
  return Written::kAll;
}

bool DetachableClient::Settle(bool alive, bool last) {
  under_way_ = false;
  if (!alive && !detached_) return false;
  if (last || !alive || receiver_->gone()) Release();
  return true;
}

Written DetachableClient::Whole(int status, absl::string_view content_type, const HeaderList& headers,
                                absl::string_view body) {
  if (receiver_ == nullptr) return gone() ? Written::kGone : Written::kAll;
  return Pass(receiver_->Whole(status, content_type, headers, body), /*last=*/true);
}

void DetachableClient::SetStatus(int status) {
  if (receiver_ != nullptr) receiver_->SetStatus(status);
}

void DetachableClient::BeginWhole(absl::string_view content_type, const HeaderList& headers,
                                  std::optional<uint64_t> length) {
  if (receiver_ != nullptr) receiver_->BeginWhole(content_type, headers, length);
}

Written DetachableClient::Part(absl::string_view bytes) {
  if (receiver_ == nullptr) return gone() ? Written::kGone : Written::kAll;
  return Pass(receiver_->Part(bytes), /*last=*/false);
}

asio::awaitable<bool> DetachableClient::FinishWhole() {
  if (receiver_ == nullptr) co_return !gone();
  const bool alive = co_await receiver_->FinishWhole();
  co_return Settle(alive, last_);
}

Written DetachableClient::Events(const HeaderList& headers, const std::vector<absl::string_view>& pieces) {
  if (receiver_ == nullptr) return gone() ? Written::kGone : Written::kAll;
  return Pass(receiver_->Events(headers, pieces), /*last=*/false);
}

asio::awaitable<bool> DetachableClient::FinishEvents() {
  if (receiver_ == nullptr) co_return !gone();
  const bool alive = co_await receiver_->FinishEvents();
  co_return Settle(alive, /*last=*/false);
}

asio::awaitable<bool> DetachableClient::End() {
  if (receiver_ == nullptr) co_return !gone();
  under_way_ = true;
  const bool alive = co_await receiver_->End();
  co_return Settle(alive, /*last=*/true);
}

asio::awaitable<bool> DetachableClient::Error(const ApiError& error) {
  if (receiver_ == nullptr) co_return !gone();
  under_way_ = true;
  const bool alive = co_await receiver_->Error(error);
  co_return Settle(alive, /*last=*/true);
}

void DetachableClient::KeepAlive(const HeaderList& headers) {
  if (receiver_ != nullptr) receiver_->KeepAlive(headers);
}

}  // namespace penstock
