// A power cut leaves what was made durable, and any part of the writes behind it: the store loses no promised answer.
//
// A copy of the folder stands for the disk. There, the last writes of files that grow are torn. They are cut short at a
// random byte, or they have their length with other bytes: a length may reach the disk before its bytes. A disk that
// reports bytes as stored and loses them is not simulated.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/jobs/store_folder.h"

namespace penstock::jobs {
namespace {

namespace fs = std::filesystem;

constexpr int kPowerCuts = 60;
constexpr int64_t kAnswers = 60;

std::string BytesOf(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// A file's bytes behind `durable` reach the disk in part, or as garbage.
void Tear(const fs::path& path, size_t durable, std::mt19937& random) {
  std::string bytes = BytesOf(path);
  if (bytes.size() <= durable) return;
  const size_t kept = durable + random() % (bytes.size() - durable + 1);
  if (random() % 2 == 0) {
    bytes.resize(kept);
  } else {
    for (size_t i = kept; i < bytes.size(); ++i) bytes[i] = static_cast<char>(random() % 3 == 0 ? 0 : random());
  }
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

std::map<std::string, size_t> SizesIn(const fs::path& folder) {
  std::map<std::string, size_t> sizes;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) sizes[fs::relative(entry.path(), folder)] = entry.file_size();
  }
  return sizes;
}

// The lines in the outputs of the batch.
std::multiset<int64_t> LinesOf(const StoreFolder& folder, const std::string& input) {
  std::multiset<int64_t> lines;
  for (const std::string& name : folder.Names("files")) {
    if (name == input) continue;
    std::istringstream text(folder.Bytes(name));
    std::string word;
    for (int64_t number = 0; text >> word >> number;) lines.insert(number);
  }
  return lines;
}

// Answers some lines; the numbers of those that the store promised.
std::set<int64_t> AnswerSome(JobStore& store, const Batch& batch, int64_t most) {
  std::vector<LineAnswer> answers;
  std::set<int64_t> numbers;
  const auto lines = *store.lines().Claim(batch.key, most);
  for (const Line& line : lines) {
    answers.push_back(AnswerOf(batch, line.number, line.number % 7 == 0));
    numbers.insert(line.number);
  }
  EXPECT_TRUE(store.lines().StoreAnswers(answers).ok());
  return numbers;
}

// Works in `folder`, and leaves in `disk` what a cut in the middle of the last call could leave. The promised lines.
std::set<int64_t> WorkUntilCut(const StoreFolder& folder, const StoreFolder& disk, std::mt19937& random,
                               std::string& input) {
  auto store = folder.Open();
  const Batch batch = BatchOf(*store, kAnswers);
  input = batch.input_file_id;
  std::set<int64_t> promised;
  for (int round = static_cast<int>(random() % 12); round > 0; --round) {
    promised.merge(AnswerSome(*store, batch, 1 + static_cast<int64_t>(random() % 6)));
  }
  const std::map<std::string, size_t> durable = SizesIn(folder.path());
  fs::copy(folder.path(), disk.path(), fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  AnswerSome(*store, batch, 5);
  // Answers are durable before their commit is written. So these are torn without a commit, or whole with a torn one.
  const bool early = random() % 2 == 0;
  for (const auto& [name, size] : SizesIn(folder.path())) {
    const bool output = name.rfind("files/", 0) == 0;
    const auto before = durable.find(name);
    const size_t kept = before == durable.end() ? 0 : before->second;
    const bool written = output || (name == "jobs.db-wal" && !early);
    if (!written || size <= kept) continue;
    const fs::path copy = fs::path(disk.path()) / name;
    fs::copy_file(fs::path(folder.path()) / name, copy, fs::copy_options::overwrite_existing);
    if (output == early) Tear(copy, kept, random);
  }
  return promised;
}

TEST(StorePowerCut, NoPromisedAnswerIsLostOrWrittenTwice) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937 random(seed);
  for (int cut = 0; cut < kPowerCuts; ++cut) {
    const StoreFolder folder;
    const StoreFolder disk;
    std::string input;
    const std::set<int64_t> promised = WorkUntilCut(folder, disk, random, input);
    auto store = disk.Open();
    ASSERT_NE(store, nullptr) << "cut " << cut;
    const auto open = *store->batches().Unfinished();
    ASSERT_EQ(open.size(), 1u) << "cut " << cut;
    const std::multiset<int64_t> lines = LinesOf(disk, input);
    for (const int64_t number : promised) ASSERT_EQ(lines.count(number), 1u) << "line " << number << ", cut " << cut;
    for (const int64_t number : lines) ASSERT_EQ(lines.count(number), 1u) << "line " << number << ", cut " << cut;
    ASSERT_EQ(static_cast<int64_t>(lines.size()), open[0].counts.completed + open[0].counts.failed) << "cut " << cut;
    while (!AnswerSome(*store, open[0], 16).empty()) continue;
    ASSERT_EQ(LinesOf(disk, input).size(), static_cast<size_t>(kAnswers)) << "cut " << cut << ": the batch goes on";
  }
}

}  // namespace
}  // namespace penstock::jobs
