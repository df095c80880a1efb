// Random submissions, aborts and steps against what must always hold.
#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <tuple>
#include <vector>

#include "backends/simulated/machine/step_machine.h"
#include "gtest/gtest.h"

namespace penstock::simulated {
namespace {

struct Expected {
  int64_t prompt = 0;
  int64_t output = 0;
  int64_t made = 0;
  bool embedding = false;
};

class Trial {
 public:
  Trial(uint64_t seed, Overflow overflow) : random_(seed), overflow_(overflow) {
    limits_.overflow = overflow;
    limits_.block = Tokens(Between(1, 16));
    limits_.kv_tokens = Tokens(limits_.block.value() * Between(10, 60));
    limits_.max_sequences = static_cast<int>(Between(1, 20));
    limits_.batch_budget = Tokens(Between(1, 200));
    limits_.prefix_cache = overflow == Overflow::kPreempt && Between(0, 3) > 0;
    if (Between(0, 1)) limits_.max_context = Tokens(limits_.kv_tokens.value() / 2 + 1);
    if (Between(0, 1)) limits_.host_tokens = limits_.kv_tokens;
    machine_.emplace(limits_);
  }

  void Go() {
    for (int i = 0; i < 1500; ++i) {
      const int64_t dice = Between(0, 99);
      if (dice < 25) Submit();
      if (dice >= 25 && dice < 30) AbortOne();
      if (machine_->HasWork()) Step();
    }
    for (int i = 0; machine_->HasWork() && i < 200'000; ++i) Step();
    EXPECT_FALSE(machine_->HasWork()) << "no progress";
    EXPECT_TRUE(live_.empty());
    EXPECT_EQ(machine_->Gauges().used, Blocks(0));
    EXPECT_EQ(machine_->Gauges().finished, finished_);
    EXPECT_EQ(machine_->Gauges().failed, failed_);
    EXPECT_EQ(machine_->Gauges().aborted, aborted_);
    EXPECT_EQ(machine_->Gauges().generated_tokens, made_);
  }

 private:
  int64_t Between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }

  void Submit() {
    Sequence sequence;
    sequence.id = ++last_id_;
    const int64_t context = machine_->MaxContext().value();
    sequence.prompt = Tokens(Between(1, context));
    sequence.output = Tokens(Between(1, 60));
    sequence.embedding = Between(0, 20) == 0;
    const int64_t family = Between(0, 3);
    const int64_t shared = Between(0, sequence.prompt.value() / limits_.block.value());
    for (int64_t i = 0; i < shared; ++i) sequence.prefix_blocks.push_back(static_cast<uint64_t>(family * 1000 + i));
    const bool accepted = machine_->Submit(sequence);
    EXPECT_EQ(accepted, sequence.prompt.value() < context);
    if (accepted) {
      live_[sequence.id] = {sequence.prompt.value(), sequence.output.value(), 0, sequence.embedding};
    }
  }

  void AbortOne() {
    if (live_.empty()) return;
    auto victim = live_.begin();
    std::advance(victim, Between(0, static_cast<int64_t>(live_.size()) - 1));
    EXPECT_TRUE(machine_->Abort(victim->first));
    live_.erase(victim);
    ++aborted_;
  }

  void Step() {
    const int64_t decodes_before = machine_->Gauges().generated_tokens;
    const StepLoad load = machine_->BeginStep();
    if (Between(0, 30) == 0) AbortOne();
    if (Between(0, 30) == 0) Submit();
    const int running = machine_->Gauges().running;
    const StepOutcome outcome = machine_->EndStep();
    EXPECT_LE(load.prefill.tokens.value() + load.sequences, limits_.batch_budget.value());
    EXPECT_LE(running, limits_.max_sequences);
    const bool exhausted = !outcome.ended.empty() && outcome.ended[0].end == SequenceEnd::kPoolExhausted;
    EXPECT_TRUE(load.sequences > 0 || load.prefill.tokens > Tokens(0) || load.preempted > 0 ||
                overflow_ == Overflow::kError);
    if (exhausted) {
      EXPECT_EQ(static_cast<int>(outcome.ended.size()), running);
    }
    Count(outcome);
    EXPECT_EQ(machine_->Gauges().generated_tokens - decodes_before, static_cast<int64_t>(outcome.tokens.size()));
    Check();
  }

  void Count(const StepOutcome& outcome) {
    std::map<SequenceId, int> in_step;
    for (const TokenMade& token : outcome.tokens) {
      ASSERT_TRUE(live_.contains(token.id));
      EXPECT_EQ(++in_step[token.id], 1);
      EXPECT_EQ(token.first, ++live_[token.id].made == 1);
      ++made_;
    }
    for (const SequenceEnded& ended : outcome.ended) {
      ASSERT_TRUE(live_.contains(ended.id));
      const Expected expected = live_[ended.id];
      EXPECT_EQ(ended.generated.value(), expected.made);
      const int64_t room = machine_->MaxContext().value() - expected.prompt;
      const int64_t whole = expected.embedding ? 0 : std::min(expected.output, room);
      if (ended.end == SequenceEnd::kPoolExhausted) {
        EXPECT_EQ(overflow_, Overflow::kError);
        ++failed_;
      } else {
        EXPECT_EQ(expected.made, whole);
        EXPECT_EQ(ended.end == SequenceEnd::kContextFull, !expected.embedding && expected.output > room);
        ++finished_;
      }
      live_.erase(ended.id);
    }
  }

  void Check() {
    const EngineGauges gauges = machine_->Gauges();
    EXPECT_EQ(gauges.running + gauges.waiting, static_cast<int>(live_.size()));
    EXPECT_LE(gauges.used, gauges.total);
    int64_t held = 0;
    for (const auto& sequence : machine_->Running()) {
      held += BlocksToHold(sequence.computed, limits_.block).value();
    }
    // Shared blocks count once in the pool and in each of their sequences.
    EXPECT_LE(gauges.used.value(), held);
    if (!limits_.prefix_cache) {
      EXPECT_EQ(gauges.used.value(), held);
    }
    if (overflow_ == Overflow::kError) {
      EXPECT_EQ(gauges.preemptions, 0);
    }
  }

  std::mt19937_64 random_;
  Overflow overflow_;
  EngineLimits limits_;
  std::optional<StepMachine> machine_;
  std::map<SequenceId, Expected> live_;
  SequenceId last_id_ = 0;
  int64_t made_ = 0;
  int64_t finished_ = 0;
  int64_t failed_ = 0;
  int64_t aborted_ = 0;
};

class StepMachineProperties : public testing::TestWithParam<std::tuple<int, Overflow>> {};

TEST_P(StepMachineProperties, HoldUnderRandomSubmissionsAbortsAndSteps) {
  for (int i = 0; i < 25; ++i) {
    const uint64_t seed = static_cast<uint64_t>(std::get<0>(GetParam()) * 25 + i);
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Trial(seed, std::get<1>(GetParam())).Go();
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, StepMachineProperties,
                         testing::Combine(testing::Range(1, 5), testing::Values(Overflow::kPreempt, Overflow::kError)));

TEST(StepMachine, EqualInputsGiveEqualOutcomes) {
  std::vector<TokenMade> runs[2];
  for (auto& tokens : runs) {
    EngineLimits limits;
    limits.kv_tokens = Tokens(2000);
    StepMachine machine(limits);
    for (SequenceId id = 1; id <= 60; ++id) {
      Sequence sequence;
      sequence.id = id;
      sequence.prompt = Tokens(static_cast<int64_t>(20 + id * 7 % 90));
      sequence.output = Tokens(static_cast<int64_t>(5 + id * 13 % 70));
      machine.Submit(sequence);
    }
    while (machine.HasWork()) {
      machine.BeginStep();
      const StepOutcome outcome = machine.EndStep();
      tokens.insert(tokens.end(), outcome.tokens.begin(), outcome.tokens.end());
    }
    EXPECT_GT(machine.Gauges().preemptions, 0);
  }
  EXPECT_EQ(runs[0], runs[1]);
}

}  // namespace
}  // namespace penstock::simulated
