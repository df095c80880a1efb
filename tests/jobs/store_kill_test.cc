// A process that dies at any instant loses no stored answer, writes none twice and keeps every file that it promised.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <csignal>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/jobs/store_folder.h"

namespace penstock::jobs {
namespace {

constexpr int kKills = 200;
constexpr int64_t kLines = 80;
constexpr int kLongestMicroseconds = 20'000;
constexpr int kMostPromises = 40;

// The works of one process, which tells each promise that the store made: "line N" or "file ID".
void Work(const std::string& folder, int promises, unsigned seed) {
  const auto tell = [promises](const std::string& promise) {
    const std::string line = promise + "\n";
    if (write(promises, line.data(), line.size()) < 0) _exit(2);
  };
  std::mt19937 random(seed);
  auto store = *JobStore::Open(folder, {});
  const auto open = *store->batches().Unfinished();
  Batch batch = open.empty() ? BatchOf(*store, kLines) : open.front();
  if (batch.status == BatchStatus::kValidating) batch = Validated(*store, batch, kLines);
  tell("file " + Upload(*store, "promised").id);
  while (true) {
    const auto lines = *store->lines().Claim(batch.key, 1 + static_cast<int64_t>(random() % 5));
    if (lines.empty()) break;
    std::vector<LineAnswer> answers;
    for (const Line& line : lines) answers.push_back(AnswerOf(batch, line.number, line.number % 10 == 0));
    if (!store->lines().StoreAnswers(answers).ok()) _exit(3);
    for (const LineAnswer& answer : answers) tell(absl::StrCat("line ", answer.number));
  }
  if (batch.status == BatchStatus::kInProgress) {
    (void)store->batches().SetStatus(batch.key, BatchStatus::kFinalizing, kNow);
  }
  (void)store->batches().Finish(batch.key, BatchStatus::kCompleted, kNow);
}

// Runs Work in a process that dies without a chance to tidy up, and returns its promises. A timer kills it (0: none
// does), or it dies soon after `most` promises.
std::vector<std::string> WorkUntilKilled(const std::string& folder, int microseconds, int most, unsigned seed) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    const itimerval timer{{0, 0}, {0, microseconds}};
    setitimer(ITIMER_REAL, &timer, nullptr);
    Work(folder, ends[1], seed);
    _exit(0);
  }
  close(ends[1]);
  std::string told;
  char bytes[4096];
  for (ssize_t count = 0; (count = read(ends[0], bytes, sizeof(bytes))) > 0;) {
    told.append(bytes, static_cast<size_t>(count));
    if (std::count(told.begin(), told.end(), '\n') >= most) kill(child, SIGKILL);
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0) << WEXITSTATUS(status);
  // The kill may have cut the last promise off.
  told.resize(told.rfind('\n') + 1);
  return absl::StrSplit(told, '\n', absl::SkipEmpty());
}

// The number of times that each line is in a file of answers.
std::map<int64_t, int> LinesIn(const std::string& bytes) {
  std::map<int64_t, int> lines;
  EXPECT_TRUE(bytes.empty() || bytes.back() == '\n') << "a torn line is left";
  std::istringstream text(bytes);
  std::string word;
  for (int64_t number = 0; text >> word >> number;) lines[number] += 1;
  return lines;
}

// Every file of answers in the folder; inputs and uploads have other bytes.
std::map<int64_t, int> AllLines(const StoreFolder& folder, const std::set<std::string>& of) {
  std::map<int64_t, int> lines;
  for (const std::string& id : of) {
    for (const auto& [number, count] : LinesIn(folder.Bytes(id))) lines[number] += count;
  }
  return lines;
}

TEST(StoreKill, NoAnswerIsLostOrWrittenTwiceWheneverTheProcessDies) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937 random(seed);
  const StoreFolder folder;
  std::set<std::string> files;
  std::set<int64_t> answered;
  int finished = 0;
  for (int kill = 0; kill <= kKills; ++kill) {
    // A busy machine gives a process little of its time, so every other kill waits for some progress.
    const bool last = kill == kKills, by_timer = kill % 2 == 0;
    const int longest = last || !by_timer ? 0 : 1 + static_cast<int>(random() % kLongestMicroseconds);
    const int most = last || by_timer ? INT_MAX : 1 + static_cast<int>(random() % kMostPromises);
    for (const std::string& promise : WorkUntilKilled(folder.path(), longest, most, random())) {
      const std::pair<std::string, std::string> words = absl::StrSplit(promise, ' ');
      if (words.first == "file") files.insert(words.second);
      if (words.first == "line") answered.insert(std::stoll(words.second));
    }
    auto store = folder.Open();
    ASSERT_NE(store, nullptr);
    for (const std::string& file : files) ASSERT_EQ(*store->files().Read(file, 0, 99), "promised");
    const auto all = *store->batches().List(kTenant, {.limit = 1});
    if (all.items.empty()) continue;
    const Batch& batch = all.items.front();
    std::set<std::string> outputs = {batch.output_file_id, batch.error_file_id};
    if (!HasEnded(batch.status)) {
      outputs.clear();
      for (const std::string& name : folder.Names("files")) {
        if (!store->files().Find(kTenant, name).ok()) outputs.insert(name);
      }
      EXPECT_LE(outputs.size(), 2u) << "only the outputs of the batch have no row";
    }
    const std::map<int64_t, int> lines = AllLines(folder, outputs);
    for (const auto& [number, count] : lines) EXPECT_EQ(count, 1) << "line " << number;
    for (const int64_t number : answered) EXPECT_EQ(lines.count(number), 1u) << "line " << number;
    EXPECT_EQ(static_cast<int64_t>(lines.size()), batch.counts.completed + batch.counts.failed);
    EXPECT_EQ(static_cast<int64_t>(lines.size()), batch.use->output.value()) << "tokens count with their answer";
    if (HasEnded(batch.status)) {
      EXPECT_EQ(static_cast<int64_t>(lines.size()), kLines);
      answered.clear();
      ++finished;
    }
    ASSERT_FALSE(::testing::Test::HasFailure());
  }
  EXPECT_GE(finished, 1) << "the last process had its time";
  std::printf("%d kills, %d whole batches, %zu files\n", kKills, finished, files.size());
}

}  // namespace
}  // namespace penstock::jobs
