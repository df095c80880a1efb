#include "backends/kv_events/socket/event_target.h"

#include <gtest/gtest.h>

#include <future>
#include <string>

#include "tests/backends/names/hanging_names.h"

namespace penstock {
namespace {

class EventTargetTest : public testing::Test {
 protected:
  // The look-up that the target has begun ends now.
  void Answer() {
    names_.WaitForAsked(++ended_);
    std::promise<void> ended;
    look_ups_.LookUp("slow.example", [&ended](const NameAnswer&) { ended.set_value(); });
    names_.Release();
    ended.get_future().wait();
  }

  HangingNames names_;
  NameLookUps look_ups_{names_.source()};
  EventTarget target_{"tcp://slow.example:5557", look_ups_};
  int ended_ = 0;
};

TEST_F(EventTargetTest, NumbersAndOtherTextsStayAsTheyAre) {
  for (const std::string address : {"tcp://10.0.0.1:5557", "tcp://[fd00::1]:5557", "tcp://", "inproc://x"}) {
    EXPECT_EQ(EventTarget(address, look_ups_).At(0), address);
  }
  EXPECT_EQ(names_.asked(), 0);
}

TEST_F(EventTargetTest, ANameThatHangsGivesNothingUntilItsAnswerComes) {
  EXPECT_EQ(target_.At(0), "");
  EXPECT_EQ(target_.At(0), "");
  Answer();
  EXPECT_EQ(target_.At(0), "tcp://127.0.0.1:5557");
}

TEST_F(EventTargetTest, AKnownAddressServesOnAndTheNextAnswerReplacesIt) {
  EXPECT_EQ(target_.At(0), "");
  Answer();
  names_.HangAgain({"fd00::2"});
  EXPECT_EQ(target_.At(0), "tcp://127.0.0.1:5557");
  EXPECT_EQ(target_.At(0), "tcp://127.0.0.1:5557");
  Answer();
  EXPECT_EQ(target_.At(0), "tcp://[fd00::2]:5557");
}

TEST_F(EventTargetTest, TheAddressesOfANameTakeTurns) {
  names_.HangAgain({"::1", "127.0.0.1"});
  EXPECT_EQ(target_.At(0), "");
  Answer();
  names_.HangAgain({});
  EXPECT_EQ(target_.At(0), "tcp://[::1]:5557");
  EXPECT_EQ(target_.At(1), "tcp://127.0.0.1:5557");
  EXPECT_EQ(target_.At(2), "tcp://[::1]:5557");
}

}  // namespace
}  // namespace penstock
