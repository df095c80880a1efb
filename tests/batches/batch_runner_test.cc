// The runner of batches with a store in a folder, one loop and a scripted engine on loopback.
#include <gtest/gtest.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <mutex>
#include <string>

#include "router/jobs/run/batch_errors.h"
#include "router/jobs/worker/wall_clock.h"
#include "tests/batches/job_world.h"

namespace penstock::jobs {
namespace {

TEST(BatchRunner, EveryLineHasItsAnswer) {
  ScriptedEngine engine([](EngineCall& call) { call.Answer(200, kWholeAnswer); });
  const StoreFolder folder;
  JobWorld job(folder, engine);
  const Batch ended = job.AwaitEnd(job.Begin(LinesUpTo(40)).key);
  EXPECT_EQ(ended.status, BatchStatus::kCompleted);
  EXPECT_EQ(ended.counts, (LineCounts{40, 40, 0}));
  EXPECT_EQ(ended.error_file_id, "");
  const auto rows = job.Rows(ended.output_file_id);
  EXPECT_EQ(rows.size(), 40U);
  EXPECT_EQ(rows.at("7")["response"]["body"], Json::parse(kWholeAnswer));
  EXPECT_EQ(engine.calls(), 40);
}

TEST(BatchRunner, BadLinesAreInTheErrorFile) {
  ScriptedEngine engine([](EngineCall& call) { call.Answer(200, kWholeAnswer); });
  const StoreFolder folder;
  JobWorld job(folder, engine);
  const Batch ended = job.AwaitEnd(job.Begin(LineOf("a") + "{\n" + LineOf("a") + LineOf("b")).key);
  EXPECT_EQ(ended.status, BatchStatus::kCompleted);
  EXPECT_EQ(ended.counts, (LineCounts{4, 2, 2}));
  const auto errors = job.Rows(ended.error_file_id);
  EXPECT_EQ(errors.at("")["error"]["code"], "invalid_json_line");
  EXPECT_EQ(errors.at("a")["error"]["code"], "duplicate_custom_id");
  const Json listed = Json::parse(ended.errors);
  EXPECT_EQ(listed[0]["line"], 2);
  EXPECT_EQ(listed[1]["line"], 3);
}

TEST(BatchRunner, ABatchThatEndsDuringItsValidationSaysSo) {
  ScriptedEngine engine([](EngineCall& call) { call.Answer(200, kWholeAnswer); });
  const StoreFolder folder;
  JobWorld job(folder, engine);
  const Batch ended = job.AwaitEnd(job.Begin(LinesUpTo(3), UnixSeconds(0)).key);
  EXPECT_EQ(ended.status, BatchStatus::kExpired);
  const Json listed = Json::parse(ended.errors);
  EXPECT_EQ(listed[0]["code"], "input_not_validated");
  EXPECT_EQ(ended.counts.total, 0);
}

// Even root's store obeys the rights of files then.
void ObeyRights(JobWorld& job, const std::string& folder) {
  if (geteuid() != 0) return;
  constexpr uid_t kNobody = 65534;
  ASSERT_EQ(chown(folder.c_str(), kNobody, kNobody), 0);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    ASSERT_EQ(chown(entry.path().c_str(), kNobody, kNobody), 0);
  }
  job.InStore([](JobStore&) { return setfsuid(kNobody); });
}

TEST(BatchRunner, AnInputThatCannotBeReadForAWhileHoldsNoOtherValidation) {
  ScriptedEngine engine([](EngineCall& call) { call.Answer(200, kWholeAnswer); });
  const StoreFolder folder;
  JobWorld job(folder, engine);
  ObeyRights(job, folder.path());
  const Batch unread = job.Make(LinesUpTo(2));
  const std::string input = folder.path() + "/files/" + unread.input_file_id;
  ASSERT_EQ(chmod(input.c_str(), 0), 0);
  job.OnBatch(unread.key);
  EXPECT_EQ(job.AwaitEnd(job.Begin(LinesUpTo(3)).key).counts, (LineCounts{3, 3, 0}));
  EXPECT_EQ(job.Find(unread.key).status, BatchStatus::kValidating);
  ASSERT_EQ(chmod(input.c_str(), 0600), 0);
  EXPECT_EQ(job.AwaitEnd(unread.key).counts, (LineCounts{2, 2, 0}));
}

TEST(BatchErrors, AreSplitAsTheyWereJoined) {
  const std::vector<std::string> errors = {R"({"code":"a","message":"x, \"]\" y","line":1})", R"({"code":"b"})"};
  EXPECT_EQ(ErrorsOf(ListOf(errors)), errors);
  EXPECT_EQ(ListOf(ErrorsOf("")), "");
}

TEST(BatchRunner, AValidationThatGoesOnKeepsTheFaultsOfBefore) {
  ScriptedEngine engine([](EngineCall& call) { call.Answer(200, kWholeAnswer); });
  const StoreFolder folder;
  BatchKey key;
  const std::string before = R"({"code":"invalid_json_line","message":"of before","line":1})";
  {
    const std::unique_ptr<JobThread> thread = *JobThread::Open(folder.path(), {}, nullptr);
    boost::asio::io_context io;
    thread->Post(
        io,
        [&](JobStore& store) {
          NewBatch wanted{.tenant = kTenant, .input_file_id = Upload(store, "{\n" + LineOf("a")).id};
          wanted.endpoint = "/v1/chat/completions";
          wanted.completion_window = "24h";
          wanted.expires_at = WallSeconds() + UnixSeconds(86'400);
          key = store.batches().Create(wanted, WallSeconds())->key;
          return store.batches().SetErrors(key, ListOf({before}));
        },
        [](const JobDone& done) { EXPECT_TRUE(done.ok()); });
    io.run();
    thread->Stop();
  }
  JobWorld job(folder, engine);
  const Json listed = Json::parse(job.AwaitEnd(key).errors);
  ASSERT_EQ(listed.size(), 2U);
  EXPECT_EQ(listed[0]["message"], "of before");
  EXPECT_EQ(listed[1]["line"], 1);
}

TEST(BatchRunner, ABatchWithoutAGoodLineFails) {
  ScriptedEngine engine([](EngineCall& call) { call.Answer(200, kWholeAnswer); });
  const StoreFolder folder;
  JobWorld job(folder, engine);
  for (const char* lines : {"", "\n\n", "{\n5\n"}) {
    const Batch ended = job.AwaitEnd(job.Begin(lines).key);
    EXPECT_EQ(ended.status, BatchStatus::kFailed);
    EXPECT_NE(ended.errors, "");
  }
}

TEST(BatchRunner, LinesWithAPrefixInCommonRunTogether) {
  std::mutex mutex;
  std::string order;
  ScriptedEngine engine([&](EngineCall& call) {
    {
      const std::lock_guard lock(mutex);
      order += call.request.body.find("xxxx") == std::string::npos ? 'y' : 'x';
    }
    call.Answer(200, kWholeAnswer);
  });
  const StoreFolder folder;
  JobWorld job(folder, engine, /*most_lines=*/1);
  std::string lines;
  for (int i = 0; i < 40; ++i) {
    lines += LineOf(std::to_string(i), std::string(3000, i % 2 == 0 ? 'x' : 'y') + std::to_string(i));
  }
  job.AwaitEnd(job.Begin(lines).key);
  ASSERT_EQ(order.size(), 40U);
  EXPECT_EQ(order, std::string(20, order.front()) + std::string(20, order.back()));
  EXPECT_NE(order.front(), order.back());
}

TEST(BatchRunner, ARefusedLineIsTriedAgain) {
  std::atomic<int> calls{0};
  ScriptedEngine engine([&](EngineCall& call) {
    if (calls++ < 3) return call.Answer(400, R"({"error":{"message":"bad","type":"x","code":null,"param":null}})");
    call.Answer(200, kWholeAnswer);
  });
  const StoreFolder folder;
  JobWorld job(folder, engine);
  job.world.orders.hold = job.world.orders.refuse_parked = true;  // 429 with a hint.
  const Batch made = job.Begin(LinesUpTo(20));
  ASSERT_TRUE(Eventually([&] { return job.world.book.Of<RequestArrived>().size() > 2; }));
  EXPECT_EQ(engine.calls(), 0);
  job.world.orders.hold = false;
  const Batch ended = job.AwaitEnd(made.key);
  EXPECT_EQ(ended.counts, (LineCounts{20, 17, 3}));  // The refusals are nobody's answer.
}

TEST(BatchRunner, ACancelledBatchLetsRunningLinesEnd) {
  Latch begun, go;
  ScriptedEngine engine([&](EngineCall& call) {
    begun.Set();
    go.Wait();
    call.Answer(200, kWholeAnswer);
  });
  const StoreFolder folder;
  JobWorld job(folder, engine);
  const Batch made = job.Begin(LinesUpTo(100));
  ASSERT_TRUE(begun.Wait());
  job.Cancel(made.key);
  EXPECT_EQ(job.Find(made.key).status, BatchStatus::kCancelling);
  go.Set();
  const Batch ended = job.AwaitEnd(made.key);
  EXPECT_EQ(ended.status, BatchStatus::kCancelled);
  EXPECT_GT(ended.counts.completed, 0);
  EXPECT_LT(ended.counts.completed, 100);
  EXPECT_EQ(job.Rows(ended.output_file_id).size(), static_cast<size_t>(ended.counts.completed));
}

TEST(BatchRunner, AnExpiredBatchHasAnErrorPerOpenLine) {
  ScriptedEngine engine([&](EngineCall& call) { call.wire.WaitClosed(); });
  const StoreFolder folder;
  JobWorld job(folder, engine);
  const Batch ended = job.AwaitEnd(job.Begin(LinesUpTo(30), kShortWindow).key);
  EXPECT_EQ(ended.status, BatchStatus::kExpired);
  EXPECT_EQ(ended.counts, (LineCounts{30, 0, 30}));
  EXPECT_EQ(job.Rows(ended.error_file_id).at("4")["error"]["code"], "batch_expired");
}

TEST(BatchRunner, AnotherRouterGoesOnWhereTheFirstOneStopped) {
  Latch go;
  std::atomic<int> calls{0};
  ScriptedEngine engine([&](EngineCall& call) {
    if (calls++ >= 10) go.Wait();
    call.Answer(200, kWholeAnswer);
  });
  const StoreFolder folder;
  BatchKey key;
  {
    JobWorld job(folder, engine);
    key = job.Begin(LinesUpTo(60)).key;
    ASSERT_TRUE(Eventually([&] { return job.Find(key).counts.completed == 10; }));
    job.Drain();
  }
  go.Set();
  JobWorld job(folder, engine);
  const Batch ended = job.AwaitEnd(key);
  EXPECT_EQ(ended.counts, (LineCounts{60, 60, 0}));
  EXPECT_EQ(job.Rows(ended.output_file_id).size(), 60U);
}

// A router that ends while the store reads lines, which then gives them or fails.
class ReadsAtTheEnd : public testing::TestWithParam<bool> {};

TEST_P(ReadsAtTheEnd, TheBatchWaitsForThemAndItsLinesRunAgain) {
  const bool fails = GetParam();
  Latch answer, busy, read;
  ScriptedEngine engine([&](EngineCall& call) {
    answer.Wait();
    call.Answer(200, kWholeAnswer);
  });
  const StoreFolder folder;
  BatchKey key;
  {
    JobWorld job(folder, engine);
    key = job.Begin(LinesUpTo(700)).key;
    ASSERT_TRUE(Eventually([&] { return engine.calls() == 64; }));
    std::future<void> store = std::async(std::launch::async, [&] {
      job.InStore([&](JobStore& store) {
        busy.Set();
        read.Wait();
        if (fails) store.SetLimits({.max_bytes_per_tenant = Bytes(1)});
        return true;
      });
    });
    ASSERT_TRUE(busy.Wait());
    answer.Set();
    // All lines at hand have run, so the next ones are asked for.
    const auto idle = [&] { return engine.calls() % LineFlow::kClaimLines == 0 && job.world.edge().requests == 0; };
    ASSERT_TRUE(Eventually(idle));
    job.Drain();
    job.world.Call([] {});
    job.world.Call([] {});
    read.Set();
    store.get();
    // The loop hears of the read before it ends.
    (void)job.Find(key);
    job.world.Call([] {});
  }
  JobWorld job(folder, engine);
  const Batch ended = job.AwaitEnd(key);
  EXPECT_EQ(ended.counts, (LineCounts{700, 700, 0}));
  EXPECT_EQ(job.Rows(ended.output_file_id).size(), 700U);
}

INSTANTIATE_TEST_SUITE_P(Ends, ReadsAtTheEnd, testing::Bool());

}  // namespace
}  // namespace penstock::jobs
