// Folders that cannot be used, and disks that fill up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "router/jobs/store/data_file.h"
#include "router/jobs/store/database.h"
#include "router/jobs/store/disk_reserve.h"
#include "tests/jobs/store_folder.h"

namespace penstock::jobs {
namespace {

using ::testing::HasSubstr;

JobError FailureToOpen(const std::string& folder) {
  const auto store = JobStore::Open(folder, {});
  EXPECT_FALSE(store.ok());
  return store.ok() ? JobError{} : store.error();
}

// Files of this process grow no further than this, so a write meets a full disk.
class SmallFiles {
 public:
  explicit SmallFiles(rlim_t most) {
    old_handler_ = std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit now{most, old_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &now);
  }
  ~SmallFiles() {
    setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, old_handler_);
  }
  SmallFiles(const SmallFiles&) = delete;
  SmallFiles& operator=(const SmallFiles&) = delete;

 private:
  rlimit old_{};
  void (*old_handler_)(int);
};

TEST(StoreFailure, ASecondRouterOnTheFolderIsRefused) {
  const StoreFolder folder;
  const auto first = folder.Open();
  const JobError error = FailureToOpen(folder.path());
  EXPECT_EQ(error.kind, JobErrorKind::kLocked);
  EXPECT_THAT(error.message, HasSubstr(folder.path()));
  EXPECT_THAT(error.message, HasSubstr("another router has this folder"));
}

TEST(StoreFailure, AFolderIsMadeInItsParentOnly) {
  const StoreFolder folder;
  EXPECT_TRUE(JobStore::Open(folder.path() + "/jobs", {}).ok());
  const JobError error = FailureToOpen(folder.path() + "/missing/jobs");
  EXPECT_EQ(error.kind, JobErrorKind::kGone);
  EXPECT_THAT(error.message, HasSubstr("No such file or directory"));
}

TEST(StoreFailure, AMissingFileIsGoneAndAMissingFolderMayComeBack) {
  const StoreFolder folder;
  const auto kind = [](const std::string& path) { return DataFile::Open(path, DataFile::Mode::kRead).error().kind; };
  EXPECT_EQ(kind(folder.path() + "/nothing"), JobErrorKind::kGone);
  EXPECT_EQ(kind(folder.path() + "/away/nothing"), JobErrorKind::kIo);
}

// The open of a FIFO would wait for a writer, and nothing that comes behind it would run.
TEST(StoreFailure, WhatIsNoRegularFileIsGoneAtOnce) {
  const StoreFolder folder;
  auto store = folder.Open();
  const StoredFile file = Upload(*store, "bytes");
  const std::string path = folder.path() + "/files/" + file.id;
  const auto expect_gone = [&] {
    EXPECT_EQ(store->files().Read(file.id, 0, 5).error().kind, JobErrorKind::kGone);
    EXPECT_EQ(store->files().readers().Read(file.id, 0, 5).error().kind, JobErrorKind::kGone);
    EXPECT_EQ(DataFile::Open(path, DataFile::Mode::kWrite).error().kind, JobErrorKind::kGone);
    std::filesystem::remove(path);
  };
  std::filesystem::rename(path, folder.path() + "/elsewhere");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  expect_gone();
  std::filesystem::create_directory(path);
  expect_gone();
  std::filesystem::create_symlink(folder.path() + "/elsewhere", path);
  expect_gone();
}

TEST(StoreFailure, AFileIsNoFolder) {
  const StoreFolder folder;
  std::ofstream(folder.path() + "/file") << "text";
  EXPECT_THAT(FailureToOpen(folder.path() + "/file").message, HasSubstr("Not a directory"));
}

TEST(StoreFailure, AReadOnlyFolderIsRefused) {
  if (getuid() == 0) GTEST_SKIP() << "root may write everywhere";
  const StoreFolder folder;
  chmod(folder.path().c_str(), 0500);
  EXPECT_EQ(FailureToOpen(folder.path()).kind, JobErrorKind::kReadOnly);
  chmod(folder.path().c_str(), 0700);
}

TEST(StoreFailure, ADamagedDatabaseIsRefused) {
  const StoreFolder folder;
  std::ofstream(folder.path() + "/jobs.db") << std::string(10'000, 'x');
  EXPECT_EQ(FailureToOpen(folder.path()).kind, JobErrorKind::kDamaged);
}

// The refused start leaves everything as it was, so that a backup can be put back.
TEST(StoreFailure, FilesWithoutTheirDatabaseStopTheStartAndStay) {
  const StoreFolder folder;
  const StoredFile file = Upload(*folder.Open(), "bytes");
  const std::string database = folder.path() + "/jobs.db";
  std::filesystem::rename(database, folder.path() + "/backup");
  std::ofstream(database + "-wal") << "the log";
  for (const bool empty : {false, true}) {
    if (empty) std::ofstream(database).close();
    const JobError error = FailureToOpen(folder.path());
    EXPECT_EQ(error.kind, JobErrorKind::kDamaged);
    EXPECT_THAT(error.message, HasSubstr("is missing or empty, and 1 files"));
    EXPECT_THAT(error.message, HasSubstr("move files/ away"));
    EXPECT_EQ(folder.Bytes(file.id), "bytes");
    EXPECT_TRUE(std::filesystem::exists(database + "-wal"));
  }
  std::filesystem::remove(database + "-wal");
  std::filesystem::rename(folder.path() + "/backup", database);
  EXPECT_EQ(*folder.Open()->files().Read(file.id, 0, 5), "bytes");
}

// The folder as a kill leaves it: the log of the database holds the newest rows, or all of them.
void CopyKilled(const StoreFolder& from, const StoreFolder& to) {
  std::filesystem::copy(from.path(), to.path(), std::filesystem::copy_options::recursive);
}

TEST(StoreFailure, ALostLogWithTheTablesInItStopsTheStart) {
  const StoreFolder live, killed;
  auto store = live.Open();
  const StoredFile file = Upload(*store, "bytes");
  CopyKilled(live, killed);
  std::filesystem::remove(killed.path() + "/jobs.db-wal");
  EXPECT_THAT(FailureToOpen(killed.path()).message, HasSubstr("is missing or empty, and 1 files"));
  EXPECT_EQ(killed.Bytes(file.id), "bytes");
}

TEST(StoreFailure, FilesOfALostOrGarbledLogAreSetAside) {
  for (const bool garbled : {false, true}) {
    const StoreFolder live, killed;
    const StoredFile old = Upload(*live.Open(), "old");
    auto store = live.Open();
    const StoredFile fresh = Upload(*store, "fresh");
    CopyKilled(live, killed);
    const std::string log = killed.path() + "/jobs.db-wal";
    ASSERT_GT(std::filesystem::file_size(log), 0u);
    std::filesystem::remove(log);
    if (garbled) std::ofstream(log) << std::string(50'000, 'x');
    const auto after = killed.Open();
    EXPECT_EQ(after->leftovers().unknown, 1);
    EXPECT_EQ(*after->files().Read(old.id, 0, 3), "old");
    EXPECT_EQ(killed.Names("unknown"), std::vector{fresh.id});
    EXPECT_EQ(killed.Bytes("../unknown/" + fresh.id), "fresh");
  }
}

TEST(StoreFailure, AFullDiskEndsAnUploadAndHarmsNothingElse) {
  const StoreFolder folder;
  auto store = folder.Open();
  const StoredFile before = Upload(*store, "before");
  {
    const SmallFiles limit(2 << 20);
    const UploadId upload = *store->files().BeginUpload(kTenant, Bytes(0));
    const auto failed = store->files().Append(upload, std::string(3 << 20, 'x'));
    EXPECT_EQ(failed.error().kind, JobErrorKind::kDiskFull) << failed.error().message;
  }
  EXPECT_TRUE(folder.Names("uploads").empty());
  EXPECT_EQ(*store->files().Read(before.id, 0, 9), "before");
  Upload(*store, "after");
}

TEST(StoreFailure, AnAnswerThatFindsNoRoomIsStoredLater) {
  const StoreFolder folder;
  auto store = folder.Open();
  const Batch batch = BatchOf(*store, 2);
  LineAnswer large = AnswerOf(batch, 1);
  large.text.insert(0, 3 << 20, 'x');
  {
    const SmallFiles limit(2 << 20);
    const auto failed = store->lines().StoreAnswers(std::vector{large});
    EXPECT_EQ(failed.error().kind, JobErrorKind::kDiskFull) << failed.error().message;
    EXPECT_EQ(*store->lines().StoreAnswers(std::vector{AnswerOf(batch, 2)}), 1);
  }
  EXPECT_EQ(*store->lines().StoreAnswers(std::vector{large}), 1);
  (void)store->batches().SetStatus(batch.key, BatchStatus::kFinalizing, kNow);
  const Batch ended = *store->batches().Finish(batch.key, BatchStatus::kCompleted, kNow);
  EXPECT_EQ(folder.Bytes(ended.output_file_id), "answer 2\n" + large.text);
}

TEST(StoreFailure, APartOfAnAnswerKeepsNoRoom) {
  const StoreFolder folder;
  auto store = folder.Open();
  const Batch batch = BatchOf(*store, 2);
  ASSERT_EQ(*store->lines().StoreAnswers(std::vector{AnswerOf(batch, 2)}), 1);
  const SmallFiles limit(2 << 20);
  LineAnswer large = AnswerOf(batch, 1);
  large.text.insert(0, 3 << 20, 'x');
  EXPECT_FALSE(store->lines().StoreAnswers(std::vector{large}).ok());
  for (const std::string& name : folder.Names("files")) EXPECT_LT(folder.Bytes(name).size(), 100U);
}

// The blocks of a file in the folder, in bytes.
int64_t RoomOf(const StoreFolder& folder, const std::string& name) {
  struct stat facts {};
  EXPECT_EQ(stat((folder.path() + "/" + name).c_str(), &facts), 0);
  return int64_t{facts.st_blocks} * 512;
}

TEST(StoreFailure, AChangeOnAFullDiskHasTheRoomOfTheReserve) {
  const StoreFolder folder;
  const auto database = *Database::Open(folder.path() + "/jobs.db");
  DiskReserve reserve(*database, folder.path() + "/reserve");
  reserve.Restore();
  EXPECT_TRUE(reserve.whole());
  EXPECT_GE(RoomOf(folder, "reserve"), DiskReserve::kBytes);
  for (const int failures : {0, 1, 2}) {
    int calls = 0;
    const JobDone done = reserve.Lend([&]() -> JobDone {
      const bool lent = calls++ > 0;
      EXPECT_EQ(RoomOf(folder, "reserve") == 0, lent);
      return calls <= failures ? JobDone(JobError{JobErrorKind::kDiskFull, "full"}) : Done();
    });
    EXPECT_EQ(done.ok(), failures < 2);
    EXPECT_EQ(calls, std::min(2, failures + 1));
    EXPECT_TRUE(reserve.whole());
    EXPECT_GE(RoomOf(folder, "reserve"), DiskReserve::kBytes);
  }
}

TEST(StoreFailure, OtherFaultsLeaveTheReserve) {
  const StoreFolder folder;
  const auto database = *Database::Open(folder.path() + "/jobs.db");
  DiskReserve reserve(*database, folder.path() + "/reserve");
  reserve.Restore();
  int calls = 0;
  const JobDone done = reserve.Lend([&]() -> JobDone {
    ++calls;
    return JobError{JobErrorKind::kReadOnly, "read-only"};
  });
  EXPECT_EQ(done.error().kind, JobErrorKind::kReadOnly);
  EXPECT_EQ(calls, 1);
}

TEST(StoreFailure, AFolderWithoutRoomForTheReserveSaysSoAndTakesItLater) {
  const StoreFolder folder;
  {
    const SmallFiles limit(300'000);
    auto store = folder.Open();
    EXPECT_TRUE(store->leftovers().no_reserve);
    const StoredFile file = Upload(*store, "bytes");
    EXPECT_TRUE(store->files().Delete(kTenant, file.id).ok());
  }
  EXPECT_EQ(RoomOf(folder, "reserve"), 0) << "a small disk keeps its room";
  std::filesystem::resize_file(folder.path() + "/reserve", 128 << 10);
  {
    const SmallFiles limit(300'000);
    EXPECT_TRUE(folder.Open()->leftovers().no_reserve);
  }
  EXPECT_EQ(std::filesystem::file_size(folder.path() + "/reserve"), 128U << 10) << "a part stays";
  auto store = folder.Open();
  EXPECT_FALSE(store->leftovers().no_reserve);
  EXPECT_GE(RoomOf(folder, "reserve"), DiskReserve::kBytes);
}

TEST(StoreFailure, ADatabaseWithoutRoomFailsTheCallAndGoesOnLater) {
  const StoreFolder folder;
  auto store = folder.Open();
  const StoredFile input = Upload(*store, "x");
  NewBatch wanted{.tenant = kTenant, .input_file_id = input.id};
  wanted.metadata = std::string(100'000, 'm');
  {
    const SmallFiles limit(50'000);
    const auto failed = store->batches().Create(wanted, kNow);
    ASSERT_FALSE(failed.ok());
    EXPECT_TRUE(IsFaultOfStore(failed.error().kind)) << failed.error().message;
  }
  EXPECT_TRUE(store->batches().Unfinished()->empty());
  EXPECT_TRUE(store->batches().Create(wanted, kNow).ok());
}

}  // namespace
}  // namespace penstock::jobs
