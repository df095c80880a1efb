// The ends of batches at their bounds: their window, their size, and cancels that meet them.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <optional>
#include <string>
#include <utility>

#include "tests/batches/job_world.h"

namespace penstock::jobs {
namespace {

TEST(BatchBounds, ACancelThatMeetsTheEndOfTheWindowCancels) {
  ScriptedEngine engine([&](EngineCall& call) { call.wire.WaitClosed(); });
  const StoreFolder folder;
  JobWorld job(folder, engine);
  const Batch made = job.Begin(LinesUpTo(30), kShortWindow);
  ASSERT_TRUE(Eventually([&] { return job.Find(made.key).status == BatchStatus::kInProgress; }));
  job.CancelInStore(made.key);
  EXPECT_EQ(job.AwaitEnd(made.key).status, BatchStatus::kCancelled);
}

TEST(BatchBounds, ACancelledBatchEndsWithItsWindow) {
  Latch begun;
  ScriptedEngine engine([&](EngineCall& call) {
    begun.Set();
    call.wire.WaitClosed();
  });
  const StoreFolder folder;
  JobWorld job(folder, engine);
  const Batch made = job.Begin(LinesUpTo(3), kShortWindow);
  ASSERT_TRUE(begun.Wait());
  job.Cancel(made.key);
  EXPECT_EQ(job.AwaitEnd(made.key).status, BatchStatus::kCancelled);
}

TEST(BatchBounds, ABatchOfTooManyLinesFails) {
  ScriptedEngine engine([](EngineCall& call) { call.Answer(200, kWholeAnswer); });
  const StoreFolder folder;
  JobWorld job(folder, engine, 64, {.max_lines_per_batch = 5000});
  const Batch ended = job.AwaitEnd(job.Begin(LinesUpTo(5001)).key);
  EXPECT_EQ(ended.status, BatchStatus::kFailed);
  EXPECT_EQ(Json::parse(ended.errors)[0]["code"], "batch_too_large");
  EXPECT_EQ(job.AwaitEnd(job.Begin(LinesUpTo(20)).key).status, BatchStatus::kCompleted);
}

TEST(BatchBounds, ABatchWhoseOutputsPassTheBytesOfItsTenantFails) {
  ScriptedEngine engine([](EngineCall& call) { call.Answer(200, kWholeAnswer); });
  const StoreFolder folder;
  JobWorld job(folder, engine, 64, {.max_bytes_per_tenant = Bytes(100'000)});
  std::string lines;
  for (int i = 0; i < 2000; ++i) lines += "5\n";
  const Batch bad = job.AwaitEnd(job.Begin(lines).key);
  EXPECT_EQ(bad.status, BatchStatus::kFailed);
  const Json errors = Json::parse(bad.errors);
  EXPECT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0]["code"], "batch_too_large");
}

TEST(BatchBounds, ABatchWhoseAnswersDoNotFitFailsBeforeTheyAreOnTheDisk) {
  const std::string long_answer = R"({"id":"c1","object":"chat.completion","choices":[{"index":0,"message":)"
                                  R"({"role":"assistant","content":")" +
                                  std::string(20'000, 'x') + R"("},"finish_reason":"stop"}]})";
  ScriptedEngine engine([&](EngineCall& call) { call.Answer(200, long_answer); });
  const StoreFolder folder;
  JobWorld job(folder, engine, 64, {.max_bytes_per_tenant = Bytes(100'000)});
  const Batch failed = job.AwaitEnd(job.Begin(LinesUpTo(30)).key);
  EXPECT_EQ(failed.status, BatchStatus::kFailed);
  EXPECT_EQ(Json::parse(failed.errors)[0]["code"], "batch_too_large");
  // The first answers to come may be too long together.
  const bool stored = !failed.output_file_id.empty();
  EXPECT_LE(stored ? folder.Bytes(failed.output_file_id).size() : 0, 100'000u);
}

TEST(BatchBounds, ABatchWhoseLastAnswerDoesNotFitFails) {
  ScriptedEngine engine([&](EngineCall& call) { call.Answer(200, kWholeAnswer); });
  const StoreFolder folder;
  JobWorld job(folder, engine, 64, {.max_bytes_per_tenant = Bytes(400)});
  const Batch failed = job.AwaitEnd(job.Begin(LinesUpTo(1)).key);
  EXPECT_EQ(failed.status, BatchStatus::kFailed);
  EXPECT_EQ(Json::parse(failed.errors)[0]["code"], "batch_too_large");
  EXPECT_EQ(failed.counts.completed, 0);
}

TEST(BatchBounds, ABatchThatExpiresWithoutRoomForItsErrorsSaysSo) {
  ScriptedEngine engine([&](EngineCall& call) { call.wire.WaitClosed(); });
  const StoreFolder folder;
  JobWorld job(folder, engine, 64, {.max_bytes_per_tenant = Bytes(8000)});
  const Batch expired = job.AwaitEnd(job.Begin(LinesUpTo(30), kShortWindow).key);
  EXPECT_EQ(expired.status, BatchStatus::kExpired);
  EXPECT_EQ(Json::parse(expired.errors)[0]["code"], "batch_too_large");
}

TEST(BatchBounds, ALineThatExpiresTellsItsLastRefusal) {
  ScriptedEngine engine([](EngineCall& call) { call.Answer(200, kWholeAnswer); });
  const StoreFolder folder;
  JobWorld job(folder, engine);
  job.world.orders.hold = job.world.orders.refuse_parked = true;  // 429 with a hint.
  const Batch ended = job.AwaitEnd(job.Begin(LinesUpTo(1), kShortWindow).key);
  EXPECT_EQ(ended.status, BatchStatus::kExpired);
  const std::string message = job.Rows(ended.error_file_id).at("1")["error"]["message"];
  EXPECT_NE(message.find("Its last run ended with status 429"), std::string::npos) << message;
}

std::string LongAnswer(size_t size) {
  Json answer = Json::parse(kWholeAnswer);
  answer["choices"][0]["message"]["content"] = std::string(size, 'w');
  return answer.dump();
}

TEST(BatchBounds, NoLineBeginsWhileManyBytesWaitForTheDisk) {
  constexpr int64_t kSize = 15 << 20;
  Latch go, stored;
  std::atomic<int> calls{0};
  const std::string answer = LongAnswer(kSize);
  ScriptedEngine engine([&](EngineCall& call) {
    ++calls;
    go.Wait();
    call.Answer(200, answer);
  });
  const StoreFolder folder;
  JobWorld job(folder, engine, /*most_lines=*/2);
  const Batch made = job.Begin(LinesUpTo(9));
  ASSERT_TRUE(Eventually([&] { return calls == 2; }));
  // The store is busy from here on.
  std::future<void> busy = std::async(std::launch::async, [&] {
    job.InStore([&](JobStore&) {
      go.Set();
      return stored.Wait();
    });
  });
  // Two lines at a time: four of them are within the bound, and six are over it.
  const auto held = [&] { return job.world.edge().answers.used().value(); };
  EXPECT_TRUE(Eventually([&] { return held() >= 6 * kSize; }));
  EXPECT_EQ(calls, 6);
  stored.Set();
  busy.get();
  EXPECT_EQ(job.AwaitEnd(made.key).counts, (LineCounts{9, 9, 0}));
  EXPECT_EQ(held(), 0);
}

TEST(BatchBounds, FewLinesRunAtOnceWhereAnswersAreLong) {
  std::atomic<int> running{0}, most{0};
  const std::string answer = LongAnswer(250'000);
  ScriptedEngine engine([&](EngineCall& call) {
    const int now = ++running;
    // The first lines begin before an answer is known.
    if (engine.calls() > 50) most = std::max<int>(most, now);
    call.Answer(200, answer);
    --running;
  });
  const StoreFolder folder;
  // An eighth of the memory has room for four.
  JobWorld job(folder, engine, 32, {}, Bytes(9 << 20));
  EXPECT_EQ(job.AwaitEnd(job.Begin(LinesUpTo(90)).key).counts, (LineCounts{90, 90, 0}));
  EXPECT_LE(most, 8);
  EXPECT_LT(engine.calls(), 180) << "most answers find memory";
}

TEST(BatchBounds, ALineThatFindsNoMemoryRunsAgain) {
  ScriptedEngine engine([&](EngineCall& call) { call.Answer(200, LongAnswer(2 << 20)); });
  const StoreFolder folder;
  JobWorld job(folder, engine);
  const Bytes budget = Config().limits.max_answer_memory;
  std::optional<AnswerMemory> others(std::in_place, job.world.edge(), budget, 1);
  ASSERT_TRUE(others->Hold(static_cast<size_t>(budget.value()) - (5 << 19)));
  const Batch made = job.Begin(LinesUpTo(3));
  ASSERT_TRUE(Eventually([&] { return engine.calls() >= 4; }));
  EXPECT_EQ(job.Find(made.key).counts, (LineCounts{3, 0, 0}));
  others.reset();
  EXPECT_EQ(job.AwaitEnd(made.key).counts, (LineCounts{3, 3, 0}));
}

TEST(BatchBounds, EmptyLinesAreReadSliceBySlice) {
  ScriptedEngine engine([](EngineCall& call) { call.Answer(200, kWholeAnswer); });
  const StoreFolder folder;
  JobWorld job(folder, engine);
  const std::string long_line = LineOf("long", std::string(2 << 20, 'x'));
  const Batch ended = job.AwaitEnd(job.Begin(std::string(3 << 20, '\n') + LineOf("a") + long_line).key);
  EXPECT_EQ(ended.counts.total, 2);
  EXPECT_EQ(ended.read_to.lines, (3 << 20) + 2);
}

}  // namespace
}  // namespace penstock::jobs
