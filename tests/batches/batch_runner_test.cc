// The runner of batches with a store in a folder, one loop and a scripted engine on loopback.
#include "router/jobs/run/batch_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

#include "router/jobs/worker/wall_clock.h"
#include "tests/jobs/store_folder.h"
#include "tests/session/session_world.h"

namespace penstock::jobs {
namespace {

using Json = nlohmann::json;
using testing::ElementsAre;

const std::string kWholeAnswer =
    R"({"id":"c1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},)"
    R"("finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":1,"total_tokens":10}})";

std::string LineOf(const std::string& custom_id, const std::string& text = "tell") {
  return R"({"custom_id":")" + custom_id + R"(","method":"POST","url":"/v1/chat/completions","body":{"model":"m",)" +
         R"("messages":[{"role":"user","content":")" + text + "\"}]}}\n";
}

std::string LinesUpTo(int count) {
  std::string lines;
  for (int i = 1; i <= count; ++i) lines += LineOf(std::to_string(i));
  return lines;
}

Config ConfigWithLines(const ScriptedEngine& engine, int64_t most) {
  Config config = ConfigOf(engine.url());
  config.state.max_running_lines = most;
  return config;
}

// A router without listeners on a store. Another one on the same folder goes on where this one stood.
class JobWorld {
 public:
  JobWorld(const StoreFolder& folder, const ScriptedEngine& engine, int64_t most_lines = 64,
           const StoreLimits& limits = {})
      : world(ConfigWithLines(engine, most_lines)),
        thread_(*JobThread::Open(folder.path(), limits, nullptr)),
        runner_(std::make_unique<BatchRunner>(world.loop(), std::vector<EventLoop*>{&world.loop()}, *thread_)) {
    EXPECT_TRUE(world.WaitUp());
    runner_->Start();
  }
  ~JobWorld() {
    world.Call([this] { runner_->Stop(); });
    world.End();
    thread_->Stop();
  }

  // On the store's thread.
  template <class Work>
  auto InStore(Work work) {
    std::promise<std::invoke_result_t<Work&, JobStore&>> promise;
    auto future = promise.get_future();
    thread_->Post(
        world.loop().io(),
        [&promise, work = std::move(work)](JobStore& store) mutable {
          promise.set_value(work(store));
          return Done();
        },
        [](const JobDone&) {});
    return future.get();
  }
  Batch Begin(const std::string& lines, UnixSeconds window = UnixSeconds(86'400)) {
    const Batch made = InStore([&](JobStore& store) {
      NewBatch wanted{.tenant = kTenant, .input_file_id = Upload(store, lines).id, .endpoint = "/v1/chat/completions"};
      wanted.completion_window = "24h";
      wanted.expires_at = WallSeconds() + window;
      return *store.batches().Create(wanted, WallSeconds());
    });
    runner_->OnBatch(made.key);
    return made;
  }
  Batch Find(BatchKey key) {
    return InStore([key](JobStore& store) { return *store.batches().Find(key); });
  }
  Batch AwaitEnd(BatchKey key) {
    EXPECT_TRUE(Eventually([&] { return HasEnded(Find(key).status); }));
    return Find(key);
  }
  void Cancel(BatchKey key) {
    CancelInStore(key);
    runner_->OnBatch(key);
  }
  // The runner hears of it later.
  void CancelInStore(BatchKey key) {
    EXPECT_TRUE(InStore([key](JobStore& store) {
                  return store.batches().SetStatus(key, BatchStatus::kCancelling, WallSeconds());
                }).ok());
  }
  // The rows of a file by custom_id; each occurs once.
  std::map<std::string, Json> Rows(const std::string& id) {
    std::map<std::string, Json> rows;
    if (id.empty()) return rows;
    const std::string text = InStore([&](JobStore& store) { return *store.files().Read(id, 0, 1 << 20); });
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const Json row = Json::parse(line);
      EXPECT_TRUE(rows.emplace(row["custom_id"].is_null() ? "" : row["custom_id"], row).second) << line;
    }
    return rows;
  }
  void Drain() { runner_->Drain(); }

  SessionWorld world;

 private:
  std::unique_ptr<JobThread> thread_;
  std::unique_ptr<BatchRunner> runner_;
};

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
  const Batch ended = job.AwaitEnd(job.Begin(LinesUpTo(30), UnixSeconds(1)).key);
  EXPECT_EQ(ended.status, BatchStatus::kExpired);
  EXPECT_EQ(ended.counts, (LineCounts{30, 0, 30}));
  EXPECT_EQ(job.Rows(ended.error_file_id).at("4")["error"]["code"], "batch_expired");
}

TEST(BatchRunner, ACancelThatMeetsTheEndOfTheWindowCancels) {
  ScriptedEngine engine([&](EngineCall& call) { call.wire.WaitClosed(); });
  const StoreFolder folder;
  JobWorld job(folder, engine);
  const Batch made = job.Begin(LinesUpTo(30), UnixSeconds(1));
  ASSERT_TRUE(Eventually([&] { return job.Find(made.key).status == BatchStatus::kInProgress; }));
  job.CancelInStore(made.key);
  EXPECT_EQ(job.AwaitEnd(made.key).status, BatchStatus::kCancelled);
}

TEST(BatchRunner, ACancelledBatchEndsWithItsWindow) {
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

TEST(BatchRunner, ABatchOfTooManyLinesFails) {
  ScriptedEngine engine([](EngineCall& call) { call.Answer(200, kWholeAnswer); });
  const StoreFolder folder;
  JobWorld job(folder, engine, 64, {.max_lines_per_batch = 5000});
  const Batch ended = job.AwaitEnd(job.Begin(LinesUpTo(5001)).key);
  EXPECT_EQ(ended.status, BatchStatus::kFailed);
  EXPECT_EQ(Json::parse(ended.errors)[0]["code"], "batch_too_large");
  EXPECT_EQ(job.AwaitEnd(job.Begin(LinesUpTo(20)).key).status, BatchStatus::kCompleted);
}

TEST(BatchRunner, ABatchWhoseOutputsPassTheBytesOfItsTenantFails) {
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

TEST(BatchRunner, ALineThatExpiresTellsItsLastRefusal) {
  ScriptedEngine engine([](EngineCall& call) { call.Answer(200, kWholeAnswer); });
  const StoreFolder folder;
  JobWorld job(folder, engine);
  job.world.orders.hold = job.world.orders.refuse_parked = true;  // 429 with a hint.
  const Batch ended = job.AwaitEnd(job.Begin(LinesUpTo(1), UnixSeconds(2)).key);
  EXPECT_EQ(ended.status, BatchStatus::kExpired);
  const std::string message = job.Rows(ended.error_file_id).at("1")["error"]["message"];
  EXPECT_NE(message.find("Its last run ended with status 429"), std::string::npos) << message;
}

TEST(BatchRunner, EmptyLinesAreReadSliceBySlice) {
  ScriptedEngine engine([](EngineCall& call) { call.Answer(200, kWholeAnswer); });
  const StoreFolder folder;
  JobWorld job(folder, engine);
  const std::string long_line = LineOf("long", std::string(2 << 20, 'x'));
  const Batch ended = job.AwaitEnd(job.Begin(std::string(3 << 20, '\n') + LineOf("a") + long_line).key);
  EXPECT_EQ(ended.counts.total, 2);
  EXPECT_EQ(ended.read_to.lines, (3 << 20) + 2);
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

}  // namespace
}  // namespace penstock::jobs
