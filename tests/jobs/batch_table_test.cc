// The batches of the job store.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "router/jobs/store/database.h"
#include "tests/jobs/store_folder.h"

namespace penstock::jobs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(BatchTable, ATenantHasSoManyOpenBatches) {
  const StoreFolder folder;
  auto store = folder.Open({.max_open_batches_per_tenant = 2});
  const Batch first = BatchOf(*store, 1);
  BatchOf(*store, 1);
  const StoredFile input = Upload(*store, "{}");
  const NewBatch third{.tenant = kTenant, .input_file_id = input.id, .endpoint = "/v1/chat/completions"};
  EXPECT_EQ(store->batches().Create(third, kNow).error().kind, JobErrorKind::kQuota);
  ASSERT_TRUE(store->batches().Finish(first.key, BatchStatus::kExpired, kNow).ok());
  EXPECT_TRUE(store->batches().Create(third, kNow).ok());
}

TEST(BatchTable, OfEndedBatchesAsManyStayAsATenantMayHaveFiles) {
  const StoreFolder folder;
  auto store = folder.Open({.max_files_per_tenant = 3});
  const StoredFile input = Upload(*store, "{}");
  const NewBatch next{.tenant = kTenant, .input_file_id = input.id, .endpoint = "/v1/chat/completions"};
  std::string newest;
  for (int i = 0; i < 20; ++i) {
    const auto batch = store->batches().Create(next, kNow);
    ASSERT_TRUE(batch.ok());
    newest = batch->id;
    ASSERT_TRUE(store->batches().Finish(batch->key, BatchStatus::kFailed, kNow).ok());
  }
  const auto page = store->batches().List(kTenant, {});
  EXPECT_EQ(page->items.size(), 3u);
  EXPECT_EQ(page->items[0].id, newest);
}

TEST(BatchTable, TheLinesOfOpenBatchesCountAgainstTheBytesOfTheirTenant) {
  const StoreFolder folder;
  auto store = folder.Open({.max_bytes_per_tenant = Bytes(100'100)});
  const Batch batch = BatchOf(*store, 990);
  const StoredFile input = Upload(*store, "{}");
  const NewBatch another{.tenant = kTenant, .input_file_id = input.id, .endpoint = "/v1/chat/completions"};
  EXPECT_TRUE(store->batches().Create(another, kNow).ok());
  BatchOf(*store, 5);
  EXPECT_EQ(store->batches().Create(another, kNow).error().kind, JobErrorKind::kQuota);
  EXPECT_EQ(store->files().BeginUpload(kTenant, Bytes(1)).error().kind, JobErrorKind::kQuota);
  ASSERT_TRUE(store->batches().Finish(batch.key, BatchStatus::kExpired, kNow).ok());
  EXPECT_TRUE(store->batches().Create(another, kNow).ok());
}

TEST(BatchTable, APageOfLongFaultsEndsWithOneBatchAndGoesOnBehindIt) {
  const StoreFolder folder;
  auto store = folder.Open();
  const Batch first = BatchOf(*store, 1), second = BatchOf(*store, 1);
  ASSERT_TRUE(store->batches().SetErrors(second.key, "[\"" + std::string(5000, 'x') + "\"]").ok());
  ListQuery query{.most_bytes = 4000};
  const auto page = store->batches().List(kTenant, query);
  ASSERT_EQ(page->items.size(), 1u);
  EXPECT_EQ(page->items[0].id, second.id);
  EXPECT_TRUE(page->has_more);
  query.behind = page->place;
  const auto rest = store->batches().List(kTenant, query);
  ASSERT_EQ(rest->items.size(), 1u);
  EXPECT_EQ(rest->items[0].id, first.id);
  EXPECT_FALSE(rest->has_more);
}

TEST(BatchTable, ABatchNeedsAnInputOfItsTenantAndPurpose) {
  const StoreFolder folder;
  auto store = folder.Open();
  const StoredFile other = Upload(*store, "x", "user_data"), input = Upload(*store, "x");
  NewBatch wanted{.tenant = kTenant, .input_file_id = other.id};
  EXPECT_EQ(store->batches().Create(wanted, kNow).error().kind, JobErrorKind::kInvalid);
  wanted = {.tenant = TenantId(8), .input_file_id = input.id};
  EXPECT_EQ(store->batches().Create(wanted, kNow).error().kind, JobErrorKind::kNotFound);
}

TEST(BatchTable, ABatchKeepsWhatItWasMadeWith) {
  const StoreFolder folder;
  Batch made;
  {
    auto store = folder.Open();
    NewBatch wanted{.tenant = kTenant, .tenant_name = "team-a", .input_file_id = Upload(*store, "x").id};
    wanted.endpoint = "/v1/embeddings";
    wanted.completion_window = "24h";
    wanted.expires_at = kNow + UnixSeconds(86'400);
    wanted.metadata = R"({"a":"b"})";
    wanted.output_expires_after = Duration::Seconds(3600);
    made = *store->batches().Create(wanted, kNow);
    EXPECT_EQ(static_cast<const NewBatch&>(made), wanted);
  }
  auto store = folder.Open();
  EXPECT_EQ(*store->batches().Find(kTenant, made.id), made);
  EXPECT_EQ(*store->batches().Find(made.key), made);
  EXPECT_EQ(made.created_at(), kNow);
  EXPECT_EQ(store->batches().Find(TenantId(8), made.id).error().kind, JobErrorKind::kNotFound);
  EXPECT_THAT(*store->batches().Unfinished(), ElementsAre(made));
  EXPECT_THAT((*store->batches().List(kTenant, {})).items, ElementsAre(made));
}

TEST(BatchTable, StatusesFollowEachOtherAsTheyMay) {
  const StoreFolder folder;
  auto store = folder.Open();
  const Batch batch = BatchOf(*store, 1);
  EXPECT_EQ(batch.Began(BatchStatus::kInProgress), kNow);
  EXPECT_EQ(store->batches().SetStatus(batch.key, BatchStatus::kValidating, kNow).error().kind,
            JobErrorKind::kConflict);
  EXPECT_EQ(store->batches().SetStatus(batch.key, BatchStatus::kCompleted, kNow).error().kind, JobErrorKind::kConflict);
  const UnixSeconds later = kNow + UnixSeconds(5);
  const auto cancelling = store->batches().SetStatus(batch.key, BatchStatus::kCancelling, later);
  EXPECT_EQ(cancelling->Began(BatchStatus::kCancelling), later);
  const auto cancelled = store->batches().Finish(batch.key, BatchStatus::kCancelled, later);
  EXPECT_EQ(cancelled->status, BatchStatus::kCancelled);
  EXPECT_EQ(cancelled->output_file_id, "");
  EXPECT_EQ(store->batches().SetStatus(batch.key, BatchStatus::kCancelling, later).error().kind,
            JobErrorKind::kConflict);
  EXPECT_THAT(*store->batches().Unfinished(), IsEmpty());
}

TEST(BatchTable, AFailedBatchHasItsErrors) {
  const StoreFolder folder;
  auto store = folder.Open();
  const Batch batch = BatchOf(*store, 1);
  const auto failed = store->batches().SetStatus(batch.key, BatchStatus::kFailed, kNow, R"([{"code":"empty_file"}])");
  EXPECT_EQ(failed->status, BatchStatus::kFailed);
  EXPECT_EQ(failed->errors, R"([{"code":"empty_file"}])");
}

// The database as version 1 left it.
void MakeOld(const StoreFolder& folder) {
  const auto database = *Database::Open(folder.path() + "/jobs.db");
  for (const char* change :
       {"DROP INDEX open_of_tenant", "DROP INDEX ended_of_tenant", "DROP INDEX ended_with_lines",
        "DROP INDEX batches_by_end", "ALTER TABLE batches DROP COLUMN model",
        "ALTER TABLE batches DROP COLUMN input_tokens", "ALTER TABLE batches DROP COLUMN cached_tokens",
        "ALTER TABLE batches DROP COLUMN output_tokens", "ALTER TABLE batches DROP COLUMN reasoning_tokens",
        "PRAGMA user_version=1"}) {
    ASSERT_TRUE(database->Run(change).ok()) << change;
  }
}

TEST(BatchTable, ABatchOfAnOlderVersionGoesOnWithoutCountsOfTokens) {
  const StoreFolder folder;
  const Batch old = BatchOf(*folder.Open(), 2);
  MakeOld(folder);
  auto store = folder.Open();
  EXPECT_EQ(*store->lines().StoreAnswers(std::vector{AnswerOf(old, 1), AnswerOf(old, 2)}), 2);
  const Batch now = *store->batches().Find(old.key);
  EXPECT_EQ(now.counts, (LineCounts{2, 2, 0}));
  EXPECT_FALSE(now.use.has_value()) << "a part of the tokens is no sum";
  EXPECT_EQ(BatchOf(*store, 1).use, TokenUse());
}

TEST(BatchTable, ABatchGoesAfterTheLifeOfFilesAndNotBeforeItsOutput) {
  const StoreFolder folder;
  auto store = folder.Open();
  const Batch batch = BatchOf(*store, 2);
  ASSERT_EQ(*store->lines().StoreAnswers(std::vector{AnswerOf(batch, 1)}), 1);
  const Batch ended = *store->batches().Finish(batch.key, BatchStatus::kExpired, kNow);
  store->SetLimits({.file_expiry = Duration::Seconds(100)});
  const auto tidy = [&store] {
    while (*store->Tidy(kNow + UnixSeconds(1000))) {
    }
  };
  tidy();
  EXPECT_TRUE(store->batches().Find(batch.key).ok()) << "its output is there";
  for (const std::string& file : {ended.output_file_id, ended.error_file_id}) {
    EXPECT_TRUE(file.empty() || store->files().Delete(batch.tenant, file).ok()) << file;
  }
  tidy();
  EXPECT_FALSE(store->batches().Find(batch.key).ok());
}

TEST(BatchTable, LinesOfEndedBatchesGoInBoundedSteps) {
  const StoreFolder folder;
  auto store = folder.Open();
  const Batch batch = BatchOf(*store, 12'000);
  ASSERT_TRUE(store->batches().Finish(batch.key, BatchStatus::kExpired, kNow).ok());
  EXPECT_TRUE(*store->Tidy(kNow));
  EXPECT_TRUE(*store->Tidy(kNow));
  EXPECT_FALSE(*store->Tidy(kNow));
  EXPECT_THAT(*store->lines().Claim(batch.key, 9), IsEmpty());
  EXPECT_EQ(store->batches().Find(batch.key)->counts.total, 12'000);
}

}  // namespace
}  // namespace penstock::jobs
