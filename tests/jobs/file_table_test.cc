// The files of the job store: uploads, lists, quotas, expiry and deletion.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/jobs/store_folder.h"

namespace penstock::jobs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(FileTable, AnUploadIsAFileOnceItIsCommitted) {
  const StoreFolder folder;
  auto store = folder.Open();
  const UploadId upload = *store->files().BeginUpload(kTenant, Bytes(0));
  ASSERT_TRUE(store->files().Append(upload, "one ").ok());
  ASSERT_TRUE(store->files().Append(upload, "two").ok());
  EXPECT_THAT((*store->files().List(kTenant, {})).items, IsEmpty());
  const FileFacts facts{.purpose = "batch", .filename = "a.jsonl", .expires_after = Duration::Seconds(60)};
  const StoredFile file = *store->files().Commit(upload, facts, kNow);
  EXPECT_EQ(file.bytes, Bytes(7));
  EXPECT_EQ(file.expires_at, kNow + UnixSeconds(60));
  EXPECT_EQ(*store->files().Find(kTenant, file.id), file);
  EXPECT_EQ(*store->files().Read(file.id, 0, 100), "one two");
  EXPECT_EQ(*store->files().Read(file.id, 4, 2), "tw");
  EXPECT_EQ(*store->files().Read(file.id, 7, 2), "");
  EXPECT_THAT(folder.Names("uploads"), IsEmpty());
}

TEST(FileTable, FilesOutliveTheStore) {
  const StoreFolder folder;
  const StoredFile file = Upload(*folder.Open(), "bytes");
  auto again = folder.Open();
  EXPECT_EQ(*again->files().Find(kTenant, file.id), file);
  EXPECT_EQ(*again->files().Read(file.id, 0, 9), "bytes");
  EXPECT_EQ(again->Use().files, 1);
  EXPECT_EQ(again->Use().bytes, Bytes(5));
}

TEST(FileTable, AnAbandonedUploadLeavesNothing) {
  const StoreFolder folder;
  auto store = folder.Open();
  const UploadId upload = *store->files().BeginUpload(kTenant, Bytes(0));
  ASSERT_TRUE(store->files().Append(upload, "bytes").ok());
  EXPECT_EQ(folder.Names("uploads").size(), 1u);
  store->files().Abandon(upload);
  EXPECT_THAT(folder.Names("uploads"), IsEmpty());
  EXPECT_EQ(store->files().Append(upload, "more").error().kind, JobErrorKind::kConflict);
  store->files().Abandon(upload);
}

TEST(FileTable, TheNextStartRemovesUploadsAndSetsFilesOfNoRowAside) {
  const StoreFolder folder;
  std::string kept;
  {
    auto store = folder.Open();
    kept = Upload(*store, "kept").id;
    (void)*store->files().BeginUpload(kTenant, Bytes(0));
    std::ofstream(folder.path() + "/files/file-unknown") << "moved, and killed before its row";
    std::ofstream(folder.path() + "/files/notes.txt") << "no file of the store";
  }
  auto store = folder.Open();
  EXPECT_THAT(folder.Names("uploads"), IsEmpty());
  EXPECT_THAT(folder.Names("files"), ::testing::UnorderedElementsAre(kept, "notes.txt"));
  EXPECT_THAT(folder.Names("unknown"), ::testing::ElementsAre("file-unknown"));
  EXPECT_EQ(store->leftovers().uploads, 1);
  EXPECT_EQ(store->leftovers().unknown, 1);
}

TEST(FileTable, TenantsSeeOnlyTheirOwnFiles) {
  const StoreFolder folder;
  auto store = folder.Open();
  const StoredFile file = Upload(*store, "bytes");
  const TenantId other(8);
  EXPECT_EQ(store->files().Find(other, file.id).error().kind, JobErrorKind::kNotFound);
  EXPECT_EQ(store->files().Delete(other, file.id).error().kind, JobErrorKind::kNotFound);
  EXPECT_THAT((*store->files().List(other, {})).items, IsEmpty());
  EXPECT_EQ(store->files().List(other, {.after = file.id}).error().kind, JobErrorKind::kInvalid);
}

TEST(FileTable, AListGoesOnBehindItsCursorInBothOrders) {
  const StoreFolder folder;
  auto store = folder.Open();
  const std::string a = Upload(*store, "a").id, b = Upload(*store, "b", "user_data").id, c = Upload(*store, "c").id;
  const auto ids = [&](const ListQuery& query) {
    const auto page = store->files().List(kTenant, query);
    std::vector<std::string> found;
    for (const StoredFile& file : page->items) found.push_back(file.id);
    if (page->has_more) found.emplace_back("...");
    return found;
  };
  EXPECT_THAT(ids({}), ElementsAre(c, b, a));
  EXPECT_THAT(ids({.limit = 2}), ElementsAre(c, b, "..."));
  EXPECT_THAT(ids({.after = b, .limit = 2}), ElementsAre(a));
  EXPECT_THAT(ids({.limit = 2, .newest_first = false}), ElementsAre(a, b, "..."));
  EXPECT_THAT(ids({.after = a, .newest_first = false}), ElementsAre(b, c));
  EXPECT_THAT(ids({.purpose = "batch"}), ElementsAre(c, a));
}

TEST(FileTable, APageHasSoManyBytesOfTextAndGoesOnBehindItsPlace) {
  const StoreFolder folder;
  auto store = folder.Open();
  std::vector<std::string> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(Upload(*store, "x").id);
  for (const bool newest_first : {true, false}) {
    ListQuery query{.limit = 4, .newest_first = newest_first, .most_bytes = 300};
    std::vector<std::string> found;
    for (bool more = true; more && query.limit > 0;) {
      const auto page = store->files().List(kTenant, query);
      EXPECT_LE(page->items.size(), 2u);
      for (const StoredFile& file : page->items) found.push_back(file.id);
      query.limit -= static_cast<int>(page->items.size());
      query.behind = page->place;
      more = page->has_more;
      EXPECT_TRUE(more) << "one file is behind the limit";
      // A file that was read goes away, and the list goes on.
      if (newest_first || found.size() != 2) continue;
      EXPECT_TRUE(store->files().Delete(kTenant, found.back()).ok());
    }
    std::vector<std::string> wanted(ids);
    if (newest_first) std::reverse(wanted.begin(), wanted.end());
    wanted.resize(4);
    EXPECT_EQ(found, wanted);
  }
}

TEST(FileTable, ADeletedFileIsGoneFromTheFolder) {
  const StoreFolder folder;
  auto store = folder.Open();
  const StoredFile file = Upload(*store, "bytes");
  ASSERT_TRUE(store->files().Delete(kTenant, file.id).ok());
  EXPECT_THAT(folder.Names("files"), IsEmpty());
  EXPECT_EQ(store->files().Delete(kTenant, file.id).error().kind, JobErrorKind::kNotFound);
  EXPECT_EQ(store->Use().files, 0);
}

TEST(FileTable, TheInputOfAnOpenBatchStays) {
  const StoreFolder folder;
  auto store = folder.Open();
  const Batch batch = BatchOf(*store, 1);
  const auto refused = store->files().Delete(kTenant, batch.input_file_id);
  EXPECT_EQ(refused.error().kind, JobErrorKind::kConflict);
  EXPECT_THAT(refused.error().message, HasSubstr(batch.id));
  ASSERT_TRUE(store->batches().Finish(batch.key, BatchStatus::kExpired, kNow).ok());
  EXPECT_TRUE(store->files().Delete(kTenant, batch.input_file_id).ok());
}

TEST(FileTable, LimitsOfATenantCountRunningUploads) {
  const StoreFolder folder;
  auto store = folder.Open({.max_file = Bytes(100), .max_bytes_per_tenant = Bytes(150), .max_files_per_tenant = 2});
  Upload(*store, std::string(60, 'x'));
  EXPECT_EQ(store->files().BeginUpload(kTenant, Bytes(91)).error().kind, JobErrorKind::kQuota);
  const UploadId running = *store->files().BeginUpload(kTenant, Bytes(50));
  EXPECT_EQ(store->files().BeginUpload(kTenant, Bytes(0)).error().kind, JobErrorKind::kQuota) << "two files";
  EXPECT_TRUE(store->files().BeginUpload(TenantId(8), Bytes(90)).ok()) << "another tenant";
  EXPECT_EQ(store->files().Append(running, std::string(101, 'x')).error().kind, JobErrorKind::kFileTooLarge);
  const UploadId larger = *store->files().BeginUpload(kTenant, Bytes(0));
  ASSERT_TRUE(store->files().Append(larger, std::string(95, 'x')).ok());
  EXPECT_EQ(store->files().Commit(larger, {.purpose = "batch"}, kNow).error().kind, JobErrorKind::kQuota);
  EXPECT_THAT(folder.Names("uploads").size(), 1u) << "of the other tenant";
}

TEST(FileTable, ExpiredFilesGo) {
  const StoreFolder folder;
  auto store = folder.Open({.file_expiry = Duration::Seconds(100)});
  const StoredFile file = Upload(*store, "bytes");
  EXPECT_EQ(file.expires_at, kNow + UnixSeconds(100));
  EXPECT_FALSE(*store->Tidy(kNow + UnixSeconds(99)));
  EXPECT_TRUE(store->files().Find(kTenant, file.id).ok());
  EXPECT_FALSE(*store->Tidy(kNow + UnixSeconds(100)));
  EXPECT_EQ(store->files().Find(kTenant, file.id).error().kind, JobErrorKind::kNotFound);
  EXPECT_THAT(folder.Names("files"), IsEmpty());
}

TEST(FileTable, AnExpiredInputStaysForItsBatch) {
  const StoreFolder folder;
  auto store = folder.Open({.file_expiry = Duration::Seconds(100)});
  const Batch batch = BatchOf(*store, 1);
  EXPECT_FALSE(*store->Tidy(kNow + UnixSeconds(1000)));
  EXPECT_TRUE(store->files().Find(kTenant, batch.input_file_id).ok());
}

TEST(FileTable, BytesThatSomebodyTookAwayAreAnErrorWithAName) {
  const StoreFolder folder;
  auto store = folder.Open();
  const StoredFile cut = Upload(*store, "bytes"), gone = Upload(*store, "bytes");
  std::filesystem::resize_file(folder.path() + "/files/" + cut.id, 2);
  std::filesystem::remove(folder.path() + "/files/" + gone.id);
  EXPECT_EQ(store->files().Read(cut.id, 0, 5).error().kind, JobErrorKind::kGone);
  EXPECT_EQ(store->files().Read(gone.id, 0, 5).error().kind, JobErrorKind::kGone);
  EXPECT_TRUE(store->files().Delete(kTenant, gone.id).ok());
}

}  // namespace
}  // namespace penstock::jobs
