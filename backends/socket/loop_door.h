// The way of other threads to a loop that may end before them.
//
//   const std::shared_ptr<LoopDoor> door = LoopDoor::Of(loop);        // While the loop lives.
//   std::thread([door] { door->Post([] { ... }); }).detach();         // Whether or not it lives.
//
// A lock guards the loop until a task is posted. Its end closes the door.
#ifndef PENSTOCK_BACKENDS_SOCKET_LOOP_DOOR_H_
#define PENSTOCK_BACKENDS_SOCKET_LOOP_DOOR_H_

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <mutex>

namespace penstock {

class LoopDoor {
 public:
  static std::shared_ptr<LoopDoor> Of(boost::asio::io_context& loop);
  explicit LoopDoor(boost::asio::io_context& loop) : loop_(&loop) {}

  // Any thread. The task runs on the loop; it is dropped once the loop is gone.
  void Post(std::function<void()> task);
  // The end of the loop calls it.
  void Close();

 private:
  std::mutex mutex_;
  boost::asio::io_context* loop_;  // Guarded. Null: it is gone.
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_SOCKET_LOOP_DOOR_H_
