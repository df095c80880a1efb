// The lives of the lines of batches.
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
  EXPECT_EQ(store->batches().Find(batch.key)->use, (TokenUse{.input = Tokens(6), .output = Tokens(3)}));
  (void)store->batches().SetStatus(batch.key, BatchStatus::kFinalizing, kNow);
  const Batch ended = *store->batches().Finish(batch.key, BatchStatus::kCompleted, kNow);
  EXPECT_EQ(*store->files().Read(ended.output_file_id, 0, 100), "answer 2\nanswer 3\n");
  EXPECT_EQ(*store->files().Read(ended.error_file_id, 0, 100), "answer 1\n");
  EXPECT_EQ(store->files().Find(kTenant, ended.output_file_id)->purpose, "batch_output");
  EXPECT_EQ(*store->lines().StoreAnswers(std::vector{AnswerOf(batch, 3)}), 0) << "the batch has ended";
}

LineAnswer LongAnswer(const Batch& batch, int64_t number, size_t bytes, bool failed = false) {
  LineAnswer answer = AnswerOf(batch, number, failed);
  answer.text.assign(bytes, 'x');
  return answer;
}

TEST(LineTable, AnswersBeyondTheBytesOfTheirTenantAreNotStored) {
  const StoreFolder folder;
  auto store = folder.Open({.max_bytes_per_tenant = Bytes(1303)});  // The input, three lines and 1000 bytes.
  const Batch batch = BatchOf(*store, 3);
  (void)store->lines().Claim(batch.key, 3);
  EXPECT_EQ(*store->lines().StoreAnswers(std::vector{LongAnswer(batch, 1, 600)}), 1);
  const auto refused =
      store->lines().StoreAnswers(std::vector{LongAnswer(batch, 2, 300), LongAnswer(batch, 3, 300, true)});
  EXPECT_EQ(refused.error().kind, JobErrorKind::kQuota);
  EXPECT_EQ(store->batches().Find(batch.key)->counts, (LineCounts{3, 1, 0}));
  EXPECT_EQ(*store->lines().StoreAnswers(std::vector{LongAnswer(batch, 2, 400)}), 1);
  const Batch failed = *store->batches().Finish(batch.key, BatchStatus::kFailed, kNow);
  EXPECT_EQ(folder.Bytes(failed.output_file_id).size(), 1000u);
}

TEST(LineTable, OpenBatchesOfOneTenantShareItsBytes) {
  const StoreFolder folder;
  auto store = folder.Open({.max_bytes_per_tenant = Bytes(1202)});  // Two inputs, two lines and 1000 bytes.
  const Batch a = BatchOf(*store, 1), b = BatchOf(*store, 1);
  const std::vector<LineAnswer> both = {LongAnswer(a, 1, 600), LongAnswer(b, 1, 600)};
  EXPECT_EQ(store->lines().StoreAnswers(both).error().kind, JobErrorKind::kQuota);
  EXPECT_EQ(*store->lines().StoreAnswers(std::vector{both[0]}), 1);
  EXPECT_EQ(store->lines().StoreAnswers(std::vector{both[1]}).error().kind, JobErrorKind::kQuota);
  EXPECT_EQ(*store->lines().StoreAnswers(std::vector{LongAnswer(b, 1, 400)}), 1);
  EXPECT_EQ(store->files().BeginUpload(kTenant, Bytes(1)).error().kind, JobErrorKind::kQuota);
}

// The model of a batch behind one call of Add for each list.
std::string ModelAfter(const std::vector<std::vector<std::string>>& slices) {
  const StoreFolder folder;
  auto store = folder.Open();
  const Batch batch = BatchOf(*store, 0);
  int64_t number = 0;
  for (const std::vector<std::string>& models : slices) {
    std::vector<NewLine> lines;
    for (const std::string& model : models) {
      NewLine& line = lines.emplace_back();
      line.number = ++number;
      line.custom_id = std::to_string(number);
      line.model = model;
      if (model == "bad") line.error = "bad\n";
    }
    EXPECT_TRUE(store->lines().Add(batch.key, lines, {number, number}, nullptr).ok());
  }
  return store->batches().Find(batch.key)->model;
}

TEST(LineTable, ABatchHasTheModelThatAllItsGoodLinesName) {
  EXPECT_EQ(ModelAfter({}), "");
  EXPECT_EQ(ModelAfter({{"bad"}}), "");
  EXPECT_EQ(ModelAfter({{"bad", "a", "a"}, {""}, {"a"}}), "a");
  EXPECT_EQ(ModelAfter({{"bad"}, {"a"}}), "a");
  EXPECT_EQ(ModelAfter({{"a", "b"}, {"b"}}), "");
  EXPECT_EQ(ModelAfter({{"a"}, {"b"}, {"b"}}), "");
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

}  // namespace
}  // namespace penstock::jobs
