// The batches of the job store and the lives of their lines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/jobs/store_folder.h"

namespace penstock::jobs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<int64_t> Numbers(const JobResult<std::vector<Line>>& lines) {
  std::vector<int64_t> numbers;
  for (const Line& line : *lines) numbers.push_back(line.number);
  return numbers;
}

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

TEST(LineTable, LinesAreClaimedInTheirOrderOnce) {
  const StoreFolder folder;
  auto store = folder.Open();
  const Batch batch = BatchOf(*store, 5);
  EXPECT_THAT(Numbers(store->lines().Claim(batch.key, 2)), ElementsAre(1, 2));
  EXPECT_THAT(Numbers(store->lines().Claim(batch.key, 2)), ElementsAre(3, 4));
  store->lines().Return(batch.key, {2, 1, 1});
  EXPECT_THAT(Numbers(store->lines().Claim(batch.key, 9)), ElementsAre(2, 5));
  EXPECT_THAT(Numbers(store->lines().Claim(batch.key, 9)), IsEmpty());
}

TEST(LineTable, LinesWithACommonPrefixAreClaimedTogether) {
  const StoreFolder folder;
  auto store = folder.Open();
  const Batch batch = BatchOf(*store, 0);
  std::vector<NewLine> lines;
  for (int64_t i = 1; i <= 4; ++i) {
    NewLine line;
    line.number = i;
    line.custom_id = std::to_string(i);
    line.order = static_cast<uint64_t>(i % 2);
    lines.push_back(line);
  }
  ASSERT_TRUE(store->lines().Add(batch.key, lines, {4, 4}, nullptr).ok());
  EXPECT_THAT(Numbers(store->lines().Claim(batch.key, 9)), ElementsAre(2, 4, 1, 3));
}

TEST(LineTable, AStoredAnswerIsInTheOutputOnce) {
  const StoreFolder folder;
  auto store = folder.Open();
  const Batch batch = BatchOf(*store, 3);
  (void)store->lines().Claim(batch.key, 3);
  const std::vector<LineAnswer> answers = {AnswerOf(batch, 2), AnswerOf(batch, 1, true), AnswerOf(batch, 2)};
  EXPECT_EQ(*store->lines().StoreAnswers(answers), 2);
  EXPECT_EQ(*store->lines().StoreAnswers(answers), 0);
  EXPECT_EQ(*store->lines().StoreAnswers(std::vector{AnswerOf(batch, 3)}), 1);
  EXPECT_EQ(store->batches().Find(batch.key)->counts, (LineCounts{3, 2, 1}));
  (void)store->batches().SetStatus(batch.key, BatchStatus::kFinalizing, kNow);
  const Batch ended = *store->batches().Finish(batch.key, BatchStatus::kCompleted, kNow);
  EXPECT_EQ(*store->files().Read(ended.output_file_id, 0, 100), "answer 2\nanswer 3\n");
  EXPECT_EQ(*store->files().Read(ended.error_file_id, 0, 100), "answer 1\n");
  EXPECT_EQ(store->files().Find(kTenant, ended.output_file_id)->purpose, "batch_output");
  EXPECT_EQ(*store->lines().StoreAnswers(std::vector{AnswerOf(batch, 3)}), 0) << "the batch has ended";
}

TEST(LineTable, AnswersOfSeveralBatchesAreStoredTogether) {
  const StoreFolder folder;
  auto store = folder.Open();
  const Batch a = BatchOf(*store, 1), b = BatchOf(*store, 1);
  EXPECT_EQ(*store->lines().StoreAnswers(std::vector{AnswerOf(a, 1), AnswerOf(b, 1)}), 2);
  EXPECT_EQ(store->batches().Find(a.key)->counts.completed, 1);
  EXPECT_EQ(store->batches().Find(b.key)->counts.completed, 1);
}

TEST(LineTable, ARestartRunsLinesWithoutAnAnswerAgain) {
  const StoreFolder folder;
  Batch batch;
  {
    auto store = folder.Open();
    batch = BatchOf(*store, 4);
    (void)store->lines().Claim(batch.key, 3);
    (void)store->lines().StoreAnswers(std::vector{AnswerOf(batch, 2)});
  }
  auto store = folder.Open();
  EXPECT_THAT(Numbers(store->lines().Claim(batch.key, 9)), ElementsAre(1, 3, 4));
}

TEST(LineTable, BrokenAndRepeatedLinesFailAloneAndAtOnce) {
  const StoreFolder folder;
  auto store = folder.Open();
  const Batch batch = BatchOf(*store, 2);
  std::vector<NewLine> lines(3);
  lines[0].number = 3;
  lines[0].custom_id = "line-1";
  lines[1].number = 4;
  lines[1].error = "broken\n";
  lines[2].number = 5;
  lines[2].custom_id = "new";
  const auto duplicate = [](const NewLine& line) { return line.custom_id + " is known\n"; };
  ASSERT_TRUE(store->lines().Add(batch.key, lines, {5, 5}, duplicate).ok());
  const Batch now = *store->batches().Find(batch.key);
  EXPECT_EQ(now.counts, (LineCounts{5, 0, 2}));
  EXPECT_EQ(now.read_to, (InputPlace{5, 5}));
  EXPECT_THAT(Numbers(store->lines().Claim(batch.key, 9)), ElementsAre(1, 2, 5));
  const Batch ended = *store->batches().Finish(batch.key, BatchStatus::kExpired, kNow);
  EXPECT_EQ(*store->files().Read(ended.error_file_id, 0, 100), "line-1 is known\nbroken\n");
}

TEST(LineTable, BytesBehindTheKnownEndAreCutOff) {
  const StoreFolder folder;
  Batch batch;
  std::string output;
  {
    auto store = folder.Open();
    batch = BatchOf(*store, 2);
    (void)store->lines().StoreAnswers(std::vector{AnswerOf(batch, 1)});
    for (const std::string& name : folder.Names("files")) {
      if (name != batch.input_file_id) output = name;
    }
    std::ofstream(folder.path() + "/files/" + output, std::ios::app) << "answer 2, torn by a ki";
  }
  auto store = folder.Open();
  EXPECT_EQ(folder.Bytes(output), "answer 1\n");
  EXPECT_EQ(*store->lines().StoreAnswers(std::vector{AnswerOf(batch, 2)}), 1);
  EXPECT_EQ(folder.Bytes(output), "answer 1\nanswer 2\n");
}

// The folder as a power cut leaves it: what was stored, and torn bytes of writes that had begun.
TEST(LineTable, TornWritesOfAPowerCutAreNothing) {
  const StoreFolder folder, cut;
  auto store = folder.Open();
  const Batch batch = BatchOf(*store, 3);
  ASSERT_EQ(*store->lines().StoreAnswers(std::vector{AnswerOf(batch, 1), AnswerOf(batch, 2, true)}), 2);
  std::filesystem::copy(folder.path(), cut.path(),
                        std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing);
  std::ofstream(cut.path() + "/jobs.db-wal", std::ios::app | std::ios::binary) << std::string(5000, 'x');
  for (const std::string& name : cut.Names("files")) {
    if (name == batch.input_file_id) continue;
    std::ofstream(cut.path() + "/files/" + name, std::ios::app) << "answer 3, to";
  }
  auto after = cut.Open();
  EXPECT_EQ(after->batches().Find(batch.key)->counts, (LineCounts{3, 1, 1}));
  EXPECT_THAT(Numbers(after->lines().Claim(batch.key, 9)), ElementsAre(3));
  EXPECT_EQ(*after->lines().StoreAnswers(std::vector{AnswerOf(batch, 3)}), 1);
  const Batch ended = *after->batches().Finish(batch.key, BatchStatus::kExpired, kNow);
  EXPECT_EQ(cut.Bytes(ended.output_file_id), "answer 1\nanswer 3\n");
  EXPECT_EQ(cut.Bytes(ended.error_file_id), "answer 2\n");
}

TEST(LineTable, AnOutputThatSomebodyTookAwayIsNotWrittenWithAHole) {
  const StoreFolder folder;
  auto store = folder.Open();
  const Batch batch = BatchOf(*store, 2);
  (void)store->lines().StoreAnswers(std::vector{AnswerOf(batch, 1)});
  for (const std::string& name : folder.Names("files")) {
    if (name != batch.input_file_id) std::filesystem::remove(folder.path() + "/files/" + name);
  }
  EXPECT_EQ(store->lines().StoreAnswers(std::vector{AnswerOf(batch, 2)}).error().kind, JobErrorKind::kGone);
  EXPECT_EQ(store->batches().Find(batch.key)->counts.completed, 1);
  EXPECT_EQ(store->batches().Finish(batch.key, BatchStatus::kExpired, kNow).error().kind, JobErrorKind::kGone);
  const auto failed = store->batches().Finish(batch.key, BatchStatus::kFailed, kNow, "[]");
  EXPECT_EQ(failed->output_file_id, "");
}

TEST(BatchTable, LinesOfEndedBatchesGoInBoundedSteps) {
  const StoreFolder folder;
  auto store = folder.Open();
  const Batch batch = BatchOf(*store, 12'000);
  ASSERT_TRUE(store->batches().Finish(batch.key, BatchStatus::kExpired, kNow).ok());
  EXPECT_TRUE(*store->Tidy(kNow));
  EXPECT_TRUE(*store->Tidy(kNow));
  EXPECT_FALSE(*store->Tidy(kNow));
  EXPECT_THAT(Numbers(store->lines().Claim(batch.key, 9)), IsEmpty());
  EXPECT_EQ(store->batches().Find(batch.key)->counts.total, 12'000);
}

}  // namespace
}  // namespace penstock::jobs
