// Downloads, and deleted files that they still read.
#include "router/jobs/store/file_readers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/jobs/store_folder.h"

namespace penstock::jobs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

int64_t OpenDescriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

TEST(FileReaders, ADownloadReadsEachPieceAnewAndHoldsNoDescriptor) {
  const StoreFolder folder;
  auto store = folder.Open();
  const StoredFile file = Upload(*store, "one two");
  const int64_t before = OpenDescriptors();
  ASSERT_EQ(*store->files().BeginRead(kTenant, file.id), file);
  EXPECT_EQ(*store->files().readers().Read(file.id, 4, 3), "two");
  EXPECT_EQ(store->files().readers().Read(file.id, 4, 4).error().kind, JobErrorKind::kGone);
  EXPECT_EQ(OpenDescriptors(), before);
  store->files().readers().End(file.id);
  EXPECT_EQ(*store->files().Read(file.id, 0, 9), "one two");
}

TEST(FileReaders, ADeletedFileIsReadToTheEndOfItsLastDownload) {
  const StoreFolder folder;
  auto store = folder.Open();
  const StoredFile file = Upload(*store, "one two");
  ASSERT_TRUE(store->files().BeginRead(kTenant, file.id).ok());
  ASSERT_TRUE(store->files().BeginRead(kTenant, file.id).ok());
  ASSERT_TRUE(store->files().Delete(kTenant, file.id).ok());
  EXPECT_EQ(store->files().BeginRead(kTenant, file.id).error().kind, JobErrorKind::kNotFound);
  EXPECT_THAT(folder.Names("files"), IsEmpty());
  store->files().readers().End(file.id);
  EXPECT_EQ(*store->files().readers().Read(file.id, 0, 7), "one two");
  store->files().readers().End(file.id);
  EXPECT_THAT(folder.Names("uploads"), IsEmpty());
}

TEST(FileReaders, ADeletedFileCountsAgainstItsTenantUntilItsLastReaderEnds) {
  const StoreFolder folder;
  auto store = folder.Open({.max_bytes_per_tenant = Bytes(100)});
  const StoredFile file = Upload(*store, std::string(60, 'x'));
  ASSERT_TRUE(store->files().BeginRead(kTenant, file.id).ok());
  ASSERT_TRUE(store->files().Delete(kTenant, file.id).ok());
  EXPECT_EQ(store->files().BeginUpload(kTenant, Bytes(41)).error().kind, JobErrorKind::kQuota);
  EXPECT_TRUE(store->files().BeginUpload(TenantId(8), Bytes(100)).ok()) << "another tenant";
  store->files().readers().End(file.id);
  EXPECT_TRUE(store->files().BeginUpload(kTenant, Bytes(100)).ok());
}

TEST(FileReaders, ADownloadGoesOnWhereTheFileCannotMove) {
  const StoreFolder folder;
  auto store = folder.Open();
  const StoredFile file = Upload(*store, "one two");
  ASSERT_TRUE(store->files().BeginRead(kTenant, file.id).ok());
  std::filesystem::create_directory(folder.path() + "/uploads/" + file.id);
  ASSERT_TRUE(store->files().Delete(kTenant, file.id).ok());
  EXPECT_EQ(*store->files().readers().Read(file.id, 0, 7), "one two");
  store->files().readers().End(file.id);
}

TEST(FileReaders, TheNextStartRemovesWhatADownloadStillRead) {
  const StoreFolder folder;
  {
    auto store = folder.Open();
    const StoredFile file = Upload(*store, "bytes");
    ASSERT_TRUE(store->files().BeginRead(kTenant, file.id).ok());
    ASSERT_TRUE(store->files().Delete(kTenant, file.id).ok());
    EXPECT_THAT(folder.Names("uploads"), ElementsAre(file.id));
  }
  auto store = folder.Open();
  EXPECT_THAT(folder.Names("uploads"), IsEmpty());
  EXPECT_EQ(store->leftovers().unknown, 0);
}

}  // namespace
}  // namespace penstock::jobs
