#include "router/live/mailbox.h"

#include <boost/asio/post.hpp>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "backends/socket/loop_turns.h"

namespace penstock {
namespace {

// The room of more actions is given back. One event has far fewer.
constexpr size_t kMostSpare = 1024;

thread_local Mailbox* mailbox_of_this_thread = nullptr;

}  // namespace

Mailbox::Mailbox(boost::asio::io_context& loop, std::function<void(const RequestAction&)> deliver)
    : loop_(loop), deliver_(std::move(deliver)) {}

void Mailbox::OwnThisThread() { mailbox_of_this_thread = this; }
Mailbox* Mailbox::OfThisThread() { return mailbox_of_this_thread; }

void Mailbox::Push(const RequestAction& action) {
  bool post = false;
  {
    std::lock_guard lock(mutex_);
    queue_.push_back(action);
    post = mailbox_of_this_thread != this && !std::exchange(drain_posted_, true);
  }
  if (!post) return;
  boost::asio::post(loop_, [this] {
    const LoopTurns::Scope scope(LoopTurns::Of(loop_));
    Drain();
  });
}

// A delivery may ask the core for more, and so come here again. Earlier decisions are delivered first.
void Mailbox::Drain() {
  if (std::exchange(draining_, true)) return;
  const auto end = absl::MakeCleanup([this] { draining_ = false; });
  std::vector<RequestAction> actions = std::exchange(spare_, {});
  while (Take(actions)) {
    for (const RequestAction& action : actions) deliver_(action);
    actions.clear();
  }
  if (actions.capacity() <= kMostSpare) spare_ = std::move(actions);
}

bool Mailbox::Take(std::vector<RequestAction>& actions) {
  std::lock_guard lock(mutex_);
  actions.swap(queue_);
  drain_posted_ = false;
  return !actions.empty();
}

}  // namespace penstock
