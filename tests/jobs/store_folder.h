// A folder of a job store for one test, removed at its end.
#ifndef PENSTOCK_TESTS_JOBS_STORE_FOLDER_H_
#define PENSTOCK_TESTS_JOBS_STORE_FOLDER_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "router/jobs/store/job_store.h"

namespace penstock::jobs {

inline constexpr TenantId kTenant{7};
inline constexpr UnixSeconds kNow{1'700'000'000};

class StoreFolder {
 public:
  StoreFolder() {
    std::string pattern = std::filesystem::temp_directory_path() / "penstock-jobs-XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  ~StoreFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  StoreFolder(const StoreFolder&) = delete;
  StoreFolder& operator=(const StoreFolder&) = delete;

  const std::string& path() const { return path_; }
  std::unique_ptr<JobStore> Open(const StoreLimits& limits = {}) const {
    auto store = JobStore::Open(path_, limits);
    EXPECT_TRUE(store.ok()) << store.error().message;
    return store.ok() ? *std::move(store) : nullptr;
  }
  std::vector<std::string> Names(const std::string& folder) const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_ + "/" + folder)) {
      names.push_back(entry.path().filename());
    }
    return names;
  }
  std::string Bytes(const std::string& id) const {
    std::ifstream file(path_ + "/files/" + id, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

 private:
  std::string path_;
};

inline StoredFile Upload(JobStore& store, const std::string& bytes, const std::string& purpose = "batch") {
  const auto upload = store.files().BeginUpload(kTenant, Bytes(0));
  EXPECT_TRUE(upload.ok());
  EXPECT_TRUE(store.files().Append(*upload, bytes).ok());
  const auto file = store.files().Commit(*upload, {.purpose = purpose, .filename = "input.jsonl"}, kNow);
  EXPECT_TRUE(file.ok()) << file.error().message;
  return *file;
}

// Ends the validation of a batch of `count` lines, wherever a kill left it.
inline Batch Validated(JobStore& store, const Batch& batch, int64_t count) {
  std::vector<NewLine> lines;
  for (int64_t i = batch.read_to.offset; i < count; ++i) {
    NewLine line;
    line.number = i + 1;
    line.offset = i;
    line.length = 1;
    line.custom_id = "line-" + std::to_string(i + 1);
    lines.push_back(line);
  }
  const auto duplicate = [](const NewLine&) { return std::string("duplicate\n"); };
  EXPECT_TRUE(store.lines().Add(batch.key, lines, {count, count}, duplicate).ok());
  return *store.batches().SetStatus(batch.key, BatchStatus::kInProgress, kNow);
}

// A batch in progress with `count` lines of one byte each.
inline Batch BatchOf(JobStore& store, int64_t count) {
  const StoredFile file = Upload(store, std::string(static_cast<size_t>(count), 'x'));
  NewBatch wanted{.tenant = kTenant, .input_file_id = file.id, .endpoint = "/v1/chat/completions"};
  wanted.completion_window = "24h";
  wanted.expires_at = kNow + UnixSeconds(86'400);
  const auto batch = store.batches().Create(wanted, kNow);
  EXPECT_TRUE(batch.ok()) << batch.error().message;
  return Validated(store, *batch, count);
}

// Its answer has as many tokens of input as its number says, and one of output.
inline LineAnswer AnswerOf(const Batch& batch, int64_t number, bool failed = false) {
  return {batch.key,
          number,
          failed,
          "answer " + std::to_string(number) + "\n",
          {.input = Tokens(number), .output = Tokens(1)}};
}

}  // namespace penstock::jobs

#endif  // PENSTOCK_TESTS_JOBS_STORE_FOLDER_H_
