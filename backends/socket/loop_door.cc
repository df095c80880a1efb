#include "backends/socket/loop_door.h"

#include <boost/asio/execution_context.hpp>
#include <boost/asio/post.hpp>
#include <utility>

namespace penstock {
namespace {

// Asio ends its services before those that run tasks.
class DoorOfLoop final : public boost::asio::execution_context::service {
 public:
  using key_type = DoorOfLoop;  // NOLINT(readability-identifier-naming): Asio wants this name.

  explicit DoorOfLoop(boost::asio::io_context& loop)
      : boost::asio::execution_context::service(loop), door(std::make_shared<LoopDoor>(loop)) {}

  static boost::asio::execution_context::id id;  // NOLINT(readability-identifier-naming)

  const std::shared_ptr<LoopDoor> door;

 private:
  void shutdown() noexcept override { door->Close(); }
};

boost::asio::execution_context::id DoorOfLoop::id;

}  // namespace

std::shared_ptr<LoopDoor> LoopDoor::Of(boost::asio::io_context& loop) {
  return boost::asio::use_service<DoorOfLoop>(loop).door;
}

void LoopDoor::Post(std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  if (loop_ != nullptr) boost::asio::post(*loop_, std::move(task));
}

void LoopDoor::Close() {
  const std::lock_guard lock(mutex_);
  loop_ = nullptr;
}

}  // namespace penstock
