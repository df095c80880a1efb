#include "router/session/apart/background_watch.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(BackgroundWatch, AsksOldWorkSeldom) {
  EXPECT_EQ(PauseAt(Duration()), Duration::Milliseconds(250));
  EXPECT_EQ(PauseAt(Duration::Seconds(8)), Duration::Seconds(1));
  EXPECT_EQ(PauseAt(Duration::Seconds(20)), Duration::Milliseconds(2500));
  EXPECT_EQ(PauseAt(Duration::Seconds(3600)), Duration::Seconds(5));
}

}  // namespace
}  // namespace penstock
