#include "router/core/books/decoding_streams.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

const Instant kStart = Instant::FromSeconds(100);

class DecodingStreamsTest : public ::testing::Test {
 protected:
  DecodingStreamsTest() { streams_.Configure({goals_}); }

  RequestState Stream(uint64_t id, int64_t prompt, int sequences = 1) {
    RequestState request;
    request.arrived.request = RequestId(id);
    request.arrived.prompt = Tokens(prompt);
    request.arrived.sequences = sequences;
    request.arrival = kStart;
    request.phase = RequestPhase::kDecoding;
    return request;
  }

  const ClassSpec goals_{"standard", Duration::Seconds(2), Duration::Milliseconds(100), Duration::Seconds(30)};
  DecodingStreams streams_;
};

TEST_F(DecodingStreamsTest, AStepAddsATokenToEveryStream) {
  RequestState first = Stream(1, 100), second = Stream(2, 50, 2);
  streams_.Join(&first);
  streams_.Join(&second);
  streams_.Advance(1);
  streams_.Advance(3);
  EXPECT_EQ(streams_.Generated(first), 4);
  EXPECT_EQ(streams_.sequences(), 3);
  EXPECT_EQ(streams_.kv_tokens(), 104 + 2 * 54);
  EXPECT_TRUE(streams_.SumsHold({&first, &second}));
}

TEST_F(DecodingStreamsTest, TheStepThatMadeAFirstTokenIsNotCountedTwice) {
  RequestState stream = Stream(1, 100);
  streams_.Join(&stream);
  EXPECT_EQ(streams_.Generated(stream), 1);
  streams_.Advance(1);
  EXPECT_EQ(streams_.Generated(stream), 1);
  streams_.Advance(1);
  EXPECT_EQ(streams_.Generated(stream), 2);
}

TEST_F(DecodingStreamsTest, ACorrectedStreamGoesOnFromItsOwnCount) {
  RequestState stream = Stream(1, 100);
  streams_.Join(&stream);
  streams_.Advance(2);
  streams_.Correct(&stream, 10);
  streams_.Advance(1);
  EXPECT_EQ(streams_.Generated(stream), 11);
  EXPECT_EQ(streams_.kv_tokens(), 111);
}

TEST_F(DecodingStreamsTest, AStreamIsDueByTheGoalsOfAReloadAlsoAfterManySteps) {
  streams_.Advance(1'000'000);
  RequestState stream = Stream(1, 100);
  streams_.Join(&stream);
  streams_.Advance(11);
  ASSERT_EQ(streams_.DueOf(stream), kStart + Duration::Seconds(3.1));
  ClassSpec slower = goals_;
  slower.tpot = Duration::Milliseconds(200);
  streams_.Configure({slower});
  streams_.Rekey({&stream});
  EXPECT_EQ(streams_.DueOf(stream), kStart + Duration::Seconds(4.2));
  EXPECT_EQ(streams_.NextDue(ClassId(0), kStart), kStart + Duration::Seconds(4.2));
  EXPECT_TRUE(streams_.SumsHold({&stream}));
}

TEST_F(DecodingStreamsTest, AStreamThatLeavesTakesItsSumsAlong) {
  RequestState first = Stream(1, 100), second = Stream(2, 50);
  streams_.Join(&first);
  streams_.Join(&second);
  streams_.Advance(5);
  streams_.Leave(&first);
  EXPECT_TRUE(streams_.SumsHold({&second}));
  streams_.Leave(&second);
  EXPECT_EQ(streams_.kv_tokens(), 0);
  EXPECT_FALSE(streams_.Decodes(ClassId(0)));
}

TEST_F(DecodingStreamsTest, ATokenIsDueATpotAfterTheOneBeforeIt) {
  RequestState stream = Stream(1, 100);
  streams_.Join(&stream);
  EXPECT_EQ(streams_.NextDue(ClassId(0), kStart), kStart + goals_.ttft + goals_.tpot);
  streams_.Advance(3);
  EXPECT_EQ(streams_.NextDue(ClassId(0), kStart), kStart + goals_.ttft + goals_.tpot * 3);
}

TEST_F(DecodingStreamsTest, AStreamThatIsLateTakesNoPartInWhatIsDueNext) {
  RequestState late = Stream(1, 100), ahead = Stream(2, 100);
  streams_.Join(&late);
  streams_.Join(&ahead);
  streams_.Correct(&ahead, 50);
  const Instant then = kStart + Duration::Seconds(5);
  EXPECT_EQ(streams_.NextDue(ClassId(0), then), kStart + goals_.ttft + goals_.tpot * 50);
}

}  // namespace
}  // namespace penstock
