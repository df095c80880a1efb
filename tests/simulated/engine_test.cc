#include "backends/simulated/engine/engine.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/simulated/engine_fixture.h"

namespace penstock::simulated {
namespace {

Instant At(int64_t milliseconds) { return Instant() + Duration::Milliseconds(milliseconds); }

class Recorder : public SequenceListener {
 public:
  void OnToken(int choice) override { heard.push_back("token " + std::to_string(choice)); }
  void OnEnd(int choice, const SequenceEnded&) override { heard.push_back("end " + std::to_string(choice)); }
  void OnStep() override { heard.emplace_back("step"); }
  std::vector<std::string> heard;
};

SequenceOrder OrderOf(int64_t prompt, int64_t output, SequenceListener* listener) {
  SequenceOrder order;
  order.prompt = Tokens(prompt);
  order.output = Tokens(output);
  order.listener = listener;
  return order;
}

TEST(SimulatedEngine, AListenerHearsTokensThenTheEndThenTheStep) {
  Engine engine(SmallSpec(), At(0));
  Recorder recorder;
  ASSERT_TRUE(engine.Submit(OrderOf(20, 2, &recorder), At(0)));
  engine.BeginStep(At(0));
  engine.FinishStep(At(10));
  engine.BeginStep(At(10));
  engine.FinishStep(At(20));
  EXPECT_EQ(recorder.heard, (std::vector<std::string>{"token 0", "step", "token 0", "end 0", "step"}));
  EXPECT_FALSE(engine.CanBegin());
}

TEST(SimulatedEngine, AnAbortedSequenceIsNotHeardAgain) {
  Engine engine(SmallSpec(), At(0));
  Recorder recorder;
  const auto id = engine.Submit(OrderOf(20, 5, &recorder), At(0));
  engine.BeginStep(At(0));
  engine.Abort(*id);
  engine.FinishStep(At(10));
  EXPECT_TRUE(recorder.heard.empty());
  EXPECT_EQ(engine.Gauges().aborted, 1);
}

TEST(SimulatedEngine, APromptThatFillsTheContextNeverRuns) {
  Engine engine(SmallSpec(), At(0));
  Recorder recorder;
  EXPECT_FALSE(engine.Submit(OrderOf(1000, 1, &recorder), At(0)));
  EXPECT_FALSE(engine.CanBegin());
}

TEST(SimulatedEngine, TimesAreCountedFromTheArrival) {
  Engine engine(SmallSpec(), At(0));
  Recorder recorder;
  ASSERT_TRUE(engine.Submit(OrderOf(20, 3, &recorder), At(0)));
  for (int step = 1; step <= 3; ++step) {
    engine.BeginStep(At(10 * step));
    engine.FinishStep(At(10 * step + 10));
  }
  EXPECT_NEAR(engine.stats().first_token.sum(), 0.020, 1e-9);
  EXPECT_NEAR(engine.stats().inter_token.sum(), 0.020, 1e-9);
  EXPECT_NEAR(engine.stats().per_output_token.sum(), 0.010, 1e-9);
  EXPECT_NEAR(engine.stats().whole.sum(), 0.040, 1e-9);
  EXPECT_EQ(engine.stats().stopped, 1);
  EXPECT_EQ(engine.stats().longest, 23);
}

TEST(SimulatedEngine, WorkIsAnnouncedOnlyWhileNoStepIsInFlight) {
  Engine engine(SmallSpec(), At(0));
  Recorder recorder;
  int announced = 0;
  engine.OnWork([&] { ++announced; });
  ASSERT_TRUE(engine.Submit(OrderOf(20, 2, &recorder), At(0)));
  engine.BeginStep(At(0));
  ASSERT_TRUE(engine.Submit(OrderOf(20, 2, &recorder), At(1)));
  EXPECT_EQ(announced, 1);
}

TEST(SimulatedEngine, ASlowdownAppliesOnlyInItsWindowOfSimulatedTime) {
  EngineSpec spec = SmallSpec();
  spec.time_scale = 2;
  spec.slowdown.from = Duration::Seconds(10);
  spec.slowdown.to = Duration::Seconds(20);
  spec.slowdown.factor = 3;
  Engine engine(spec, At(0));
  Recorder recorder;
  ASSERT_TRUE(engine.Submit(OrderOf(20, 9, &recorder), At(0)));
  const auto alone = [&](int64_t at) {
    const Duration length = engine.BeginStep(At(at)).alone;
    engine.FinishStep(At(at + 10));
    return length;
  };
  EXPECT_EQ(alone(4000), Duration::Milliseconds(5));
  EXPECT_EQ(alone(5000), Duration::Milliseconds(15)) << "5 s at twice the speed are 10 simulated seconds";
  EXPECT_EQ(alone(10'000), Duration::Milliseconds(5));
}

}  // namespace
}  // namespace penstock::simulated
