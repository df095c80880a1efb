// Folders that cannot be used, and disks that fill up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "router/jobs/store/data_file.h"
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
