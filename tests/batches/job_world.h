// A router without listeners on a store in a folder, and the lines of its batches.
#ifndef PENSTOCK_TESTS_BATCHES_JOB_WORLD_H_
#define PENSTOCK_TESTS_BATCHES_JOB_WORLD_H_

#include <gtest/gtest.h>

#include <future>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "router/jobs/run/batch_runner.h"
#include "router/jobs/worker/wall_clock.h"
#include "tests/jobs/store_folder.h"
#include "tests/session/session_world.h"

namespace penstock::jobs {

using Json = nlohmann::json;

inline const std::string kWholeAnswer =
    R"({"id":"c1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},)"
    R"("finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":1,"total_tokens":10}})";

// A window that ends within a test. Whole seconds count, so it may be a second shorter; the lines begin before.
inline constexpr UnixSeconds kShortWindow{3};

inline std::string LineOf(const std::string& custom_id, const std::string& text = "tell") {
  return R"({"custom_id":")" + custom_id + R"(","method":"POST","url":"/v1/chat/completions","body":{"model":"m",)" +
         R"("messages":[{"role":"user","content":")" + text + "\"}]}}\n";
}

inline std::string LinesUpTo(int count) {
  std::string lines;
  for (int i = 1; i <= count; ++i) lines += LineOf(std::to_string(i));
  return lines;
}

inline Config ConfigWithLines(const ScriptedEngine& engine, int64_t most, Bytes answers) {
  Config config = ConfigOf(engine.url());
  config.state.max_running_lines = most;
  config.limits.max_answer_memory = answers;
  return config;
}

// A router without listeners on a store. Another one on the same folder goes on where this one stood.
class JobWorld {
 public:
  JobWorld(const StoreFolder& folder, const ScriptedEngine& engine, int64_t most_lines = 64,
           const StoreLimits& limits = {}, Bytes answers = Config().limits.max_answer_memory)
      : world(ConfigWithLines(engine, most_lines, answers)),
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
    const Batch made = Make(lines, window);
    OnBatch(made.key);
    return made;
  }
  void OnBatch(BatchKey key) { runner_->OnBatch(key); }
  // The runner has not heard of it.
  Batch Make(const std::string& lines, UnixSeconds window = UnixSeconds(86'400)) {
    return InStore([&](JobStore& store) {
      NewBatch wanted{.tenant = kTenant, .input_file_id = Upload(store, lines).id, .endpoint = "/v1/chat/completions"};
      wanted.completion_window = "24h";
      wanted.expires_at = WallSeconds() + window;
      return *store.batches().Create(wanted, WallSeconds());
    });
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

}  // namespace penstock::jobs

#endif  // PENSTOCK_TESTS_BATCHES_JOB_WORLD_H_
