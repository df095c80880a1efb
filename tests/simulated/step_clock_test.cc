#include "backends/simulated/fleet/step_clock.h"

#include "base/clock.h"
#include "gtest/gtest.h"
#include "tests/simulated/engine_fixture.h"

namespace penstock::simulated {
namespace {

class EndCounter : public SequenceListener {
 public:
  explicit EndCounter(boost::asio::io_context& context, int expected) : context_(context), left_(expected) {}
  void OnToken(int) override {
    ++tokens;
    last = Now();
  }
  void OnEnd(int, const SequenceEnded&) override {
    if (--left_ == 0) context_.stop();
  }
  void OnStep() override {}

  int tokens = 0;
  Instant last;

 private:
  boost::asio::io_context& context_;
  int left_;
};

SequenceOrder TenTokens(SequenceListener* listener) {
  SequenceOrder order;
  order.prompt = Tokens(20);
  order.output = Tokens(10);
  order.listener = listener;
  return order;
}

TEST(StepClock, StepsFollowEachOtherAndTakeTheirTime) {
  boost::asio::io_context context;
  StepClock clock(context);
  EngineSpec spec = SmallSpec();
  spec.step.a = 2;
  auto engine = std::make_shared<Engine>(spec, Now());
  clock.AddEngine(engine, {clock.AddGpu(Sharing::kTimeSlicing)});
  EndCounter counter(context, 1);
  const Instant start = Now();
  ASSERT_TRUE(engine->Submit(TenTokens(&counter), start));
  context.run();
  EXPECT_EQ(counter.tokens, 10);
  EXPECT_GE(counter.last - start, Duration::Milliseconds(20)) << "ten steps of 2 ms";
}

TEST(StepClock, NeighboursOnOneGpuSlowEachOther) {
  boost::asio::io_context context;
  StepClock clock(context);
  EngineSpec spec = SmallSpec();
  spec.step.a = 2;
  const int gpu = clock.AddGpu(Sharing::kTimeSlicing);
  EndCounter counter(context, 2);
  const Instant start = Now();
  std::vector<std::shared_ptr<Engine>> engines;
  for (int i = 0; i < 2; ++i) {
    engines.push_back(std::make_shared<Engine>(spec, start));
    clock.AddEngine(engines.back(), {gpu});
  }
  for (const auto& engine : engines) ASSERT_TRUE(engine->Submit(TenTokens(&counter), start));
  context.run();
  EXPECT_EQ(counter.tokens, 20);
  EXPECT_GE(counter.last - start, Duration::Milliseconds(36)) << "twenty steps of 2 ms share the GPU";
}

}  // namespace
}  // namespace penstock::simulated
