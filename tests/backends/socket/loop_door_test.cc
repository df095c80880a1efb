#include "backends/socket/loop_door.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <thread>

namespace penstock {
namespace {

TEST(LoopDoorTest, ATaskOfAnotherThreadRunsOnTheLoop) {
  boost::asio::io_context loop;
  std::optional<std::thread::id> ran;
  const std::shared_ptr<LoopDoor> door = LoopDoor::Of(loop);
  std::thread([door, &ran] { door->Post([&ran] { ran = std::this_thread::get_id(); }); }).join();
  EXPECT_FALSE(ran);
  loop.run();
  EXPECT_EQ(ran, std::this_thread::get_id());
}

TEST(LoopDoorTest, ALoopHasOneDoor) {
  boost::asio::io_context loop;
  EXPECT_EQ(LoopDoor::Of(loop), LoopDoor::Of(loop));
}

TEST(LoopDoorTest, BehindTheEndOfTheLoopATaskIsDropped) {
  std::shared_ptr<LoopDoor> door;
  {
    boost::asio::io_context loop;
    door = LoopDoor::Of(loop);
  }
  const auto owned = std::make_shared<int>(0);
  door->Post([owned] { ++*owned; });
  EXPECT_EQ(*owned, 0);
  EXPECT_EQ(owned.use_count(), 1);
}

TEST(LoopDoorTest, ATaskThatTheLoopDoesNotRunAnyMoreIsFreedWithIt) {
  const auto owned = std::make_shared<int>(0);
  {
    boost::asio::io_context loop;
    LoopDoor::Of(loop)->Post([owned] { ++*owned; });
  }
  EXPECT_EQ(*owned, 0);
  EXPECT_EQ(owned.use_count(), 1);
}

}  // namespace
}  // namespace penstock
