// The thread of the job store, seen from a loop.
#include "router/jobs/worker/job_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <future>

#include "tests/jobs/store_folder.h"

namespace penstock::jobs {
namespace {

namespace asio = boost::asio;

std::unique_ptr<JobThread> OpenThread(const StoreFolder& folder, JobThread::OnFault on_fault = nullptr) {
  auto thread = JobThread::Open(folder.path(), {}, std::move(on_fault));
  EXPECT_TRUE(thread.ok()) << thread.error().message;
  return *std::move(thread);
}

TEST(JobThread, ACoroutineGetsTheResultOnItsOwnLoop) {
  const StoreFolder folder;
  const auto thread = OpenThread(folder);
  asio::io_context io;
  const std::thread::id own = std::this_thread::get_id();
  std::thread::id during, after;
  std::string id;
  const auto run = [&]() -> asio::awaitable<void> {
    auto work = [&during](JobStore& store) -> JobResult<StoredFile> {
      during = std::this_thread::get_id();
      return Upload(store, "bytes");
    };
    const JobResult<StoredFile> file = co_await thread->Call(io, std::move(work));
    after = std::this_thread::get_id();
    id = file->id;
  };
  asio::co_spawn(io, run(), asio::detached);
  io.run();
  EXPECT_NE(during, own);
  EXPECT_EQ(after, own);
  EXPECT_NE(id, "");
  EXPECT_EQ(thread->use().files, 1);
}

TEST(JobThread, AReadOfOneCallerComesBeforeTheManyOfAnother) {
  const StoreFolder folder;
  const auto thread = OpenThread(folder);
  asio::io_context io;
  // The store is busy while all of them arrive.
  std::promise<void> go;
  thread->Post(
      io, [&go](JobStore&) { return go.get_future().wait(), true; }, [](bool) {});
  std::string order;
  const auto read = [&](uint64_t caller, char name) -> asio::awaitable<void> {
    auto work = [](JobStore&) { return true; };
    co_await thread->CallInTurn(io, caller, std::move(work));
    order.push_back(name);
  };
  for (int i = 0; i < 5; ++i) asio::co_spawn(io, read(1, 'a'), asio::detached);
  asio::co_spawn(io, read(2, 'b'), asio::detached);
  io.poll();
  go.set_value();
  io.run();
  EXPECT_EQ(order, "abaaaa");
}

TEST(JobThread, AnswersOfManyLinesAreAllToldOnceTheyAreDurable) {
  const StoreFolder folder;
  const auto thread = OpenThread(folder);
  asio::io_context io;
  Batch batch;
  const auto make = [](JobStore& store) { return BatchOf(store, 500); };
  thread->Post(io, make, [&batch](Batch made) { batch = std::move(made); });
  io.run();
  io.restart();
  int stored = 0;
  for (int64_t number = 1; number <= 500; ++number) {
    thread->StoreAnswer(io, AnswerOf(batch, number), [&stored](const JobDone& done, const LineAnswer& back) {
      stored += done.ok() && back.text.empty() ? 1 : 0;
    });
  }
  io.run();
  EXPECT_EQ(stored, 500);
  io.restart();
  LineCounts counts;
  const auto look = [key = batch.key](JobStore& store) { return store.batches().Find(key); };
  thread->Post(io, look, [&counts](const JobResult<Batch>& found) { counts = found->counts; });
  io.run();
  EXPECT_EQ(counts, (LineCounts{500, 500, 0}));
}

TEST(JobThread, ExpiredFilesGoHoweverManyWorksCome) {
  const StoreFolder folder;
  const auto thread = OpenThread(folder);
  asio::io_context io;
  const auto make = [](JobStore& store) {
    const auto upload = store.files().BeginUpload(kTenant, Bytes(0));
    return store.files().Commit(*upload, {.purpose = "batch", .expires_after = Duration::Seconds(1)}, kNow);
  };
  thread->Post(io, make, [](const JobResult<StoredFile>& file) { EXPECT_TRUE(file.ok()); });
  // Each work calls for the next one, so the thread is never idle.
  do {
    io.run();
    io.restart();
    thread->Post(
        io, [](JobStore&) { return Done(); }, [](const JobDone&) {});
  } while (!folder.Names("files").empty());
  io.run();
}

TEST(JobThread, ABatchWithoutItsOutputKeepsNoOtherFromTheDisk) {
  const StoreFolder folder;
  std::vector<JobErrorKind> faults;
  const auto thread = OpenThread(folder, [&faults](const JobError& error) { faults.push_back(error.kind); });
  asio::io_context io;
  std::pair<Batch, Batch> batches;
  const auto make = [&folder](JobStore& store) {
    const Batch broken = BatchOf(store, 2);
    (void)store.lines().StoreAnswers(std::vector{AnswerOf(broken, 1)});
    for (const std::string& name : folder.Names("files")) {
      if (name != broken.input_file_id) std::filesystem::remove(folder.path() + "/files/" + name);
    }
    return std::pair(broken, BatchOf(store, 1));
  };
  thread->Post(io, make, [&batches](std::pair<Batch, Batch> made) { batches = std::move(made); });
  io.run();
  io.restart();
  // The store is busy while both answers arrive, so that they are one group.
  std::promise<void> go;
  thread->Post(
      io, [&go](JobStore&) { return go.get_future().wait(), true; }, [](bool) {});
  std::vector<std::string> ends;
  LineAnswer unstored;
  thread->StoreAnswer(io, AnswerOf(batches.first, 2), [&](const JobDone& done, LineAnswer back) {
    ends.emplace_back(done.ok() ? "stored" : std::string(LabelOf(done.error().kind)));
    unstored = std::move(back);
  });
  thread->StoreAnswer(io, AnswerOf(batches.second, 1), [&ends](const JobDone& done, const LineAnswer&) {
    ends.emplace_back(done.ok() ? "stored" : "failed");
  });
  go.set_value();
  io.run();
  EXPECT_THAT(ends, ::testing::ElementsAre("gone", "stored"));
  EXPECT_EQ(unstored.text, AnswerOf(batches.first, 2).text);
  thread->Stop();
  EXPECT_THAT(faults, ::testing::Contains(JobErrorKind::kGone));
}

TEST(JobThread, ItsEndWaitsForEveryWork) {
  const StoreFolder folder;
  asio::io_context io;
  auto thread = OpenThread(folder);
  for (int i = 0; i < 20; ++i) {
    thread->Post(
        io, [](JobStore& store) { return Upload(store, "bytes"); }, [](const StoredFile&) {});
  }
  thread->Stop();
  thread.reset();
  EXPECT_EQ(folder.Open()->Use().files, 20);
}

TEST(JobThread, AFolderThatCannotBeUsedIsAnError) {
  const StoreFolder folder;
  const auto first = OpenThread(folder);
  const auto second = JobThread::Open(folder.path(), {}, nullptr);
  EXPECT_EQ(second.error().kind, JobErrorKind::kLocked);
}

}  // namespace
}  // namespace penstock::jobs
