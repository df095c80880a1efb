// The ends of batches at their bounds: their window, their size, and cancels that meet them.
#include <gtest/gtest.h>

#include <string>

#include "tests/batches/job_world.h"

namespace penstock::jobs {
namespace {

TEST(BatchBounds, ACancelThatMeetsTheEndOfTheWindowCancels) {
  ScriptedEngine engine([&](EngineCall& call) { call.wire.WaitClosed(); });
  const StoreFolder folder;
  JobWorld job(folder, engine);
  const Batch made = job.Begin(LinesUpTo(30), UnixSeconds(1));
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
  const Batch made = job.Begin(LinesUpTo(3), UnixSeconds(2));
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
  EXPECT_LE(folder.Bytes(failed.output_file_id).size(), 100'000u);
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
  const Batch expired = job.AwaitEnd(job.Begin(LinesUpTo(30), UnixSeconds(2)).key);
  EXPECT_EQ(expired.status, BatchStatus::kExpired);
  EXPECT_EQ(Json::parse(expired.errors)[0]["code"], "batch_too_large");
}

TEST(BatchBounds, ALineThatExpiresTellsItsLastRefusal) {
  ScriptedEngine engine([](EngineCall& call) { call.Answer(200, kWholeAnswer); });
  const StoreFolder folder;
  JobWorld job(folder, engine);
  job.world.orders.hold = job.world.orders.refuse_parked = true;  // 429 with a hint.
  const Batch ended = job.AwaitEnd(job.Begin(LinesUpTo(1), UnixSeconds(2)).key);
  EXPECT_EQ(ended.status, BatchStatus::kExpired);
  const std::string message = job.Rows(ended.error_file_id).at("1")["error"]["message"];
  EXPECT_NE(message.find("Its last run ended with status 429"), std::string::npos) << message;
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
