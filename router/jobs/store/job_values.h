// The files, batches and lines of the job store as plain values. Pure.
#ifndef PENSTOCK_ROUTER_JOBS_STORE_JOB_VALUES_H_
#define PENSTOCK_ROUTER_JOBS_STORE_JOB_VALUES_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/ids.h"
#include "base/units.h"

namespace penstock::jobs {

// Seconds since 1970 of the wall clock. The store reads no clock: every call has the time as an argument.
using UnixSeconds = Count<struct UnixSecondsTag>;

// The row of a batch, never used again for another one.
using BatchKey = Id<struct BatchKeyTag, int64_t>;

// One stored file, as /v1/files shows it.
struct StoredFile {
  std::string id;  // file-...
  TenantId tenant;
  std::string purpose;
  std::string filename;
  Bytes bytes{0};
  UnixSeconds created_at{0};
  std::optional<UnixSeconds> expires_at;  // Nullopt: never.

  bool operator==(const StoredFile&) const = default;
};

enum class BatchStatus : uint8_t {
  kValidating,  // Its lines are being read into the store.
  kInProgress,
  kFinalizing,  // Every line has its answer.
  kCompleted,
  kFailed,  // The input makes no job.
  kExpired,
  kCancelling,  // No new line begins; those that run may end.
  kCancelled,
};
inline constexpr int kBatchStatusCount = 8;
// OpenAI's words.
inline constexpr std::array<absl::string_view, kBatchStatusCount> kBatchStatusNames = {
    "validating", "in_progress", "finalizing", "completed", "failed", "expired", "cancelling", "cancelled"};

constexpr bool HasEnded(BatchStatus status) {
  return status == BatchStatus::kCompleted || status == BatchStatus::kFailed || status == BatchStatus::kExpired ||
         status == BatchStatus::kCancelled;
}
// The changes that a batch may make. An ended batch makes none.
bool MayFollow(BatchStatus from, BatchStatus to);

struct LineCounts {
  int64_t total = 0;      // Lines of the input that the store has read so far; empty lines do not count.
  int64_t completed = 0;  // Their answers are in the output file.
  int64_t failed = 0;     // Their errors are in the error file.

  bool operator==(const LineCounts&) const = default;
  int64_t Open() const { return total - completed - failed; }
};

// The tokens of answers, as their usage tells.
struct TokenUse {
  Tokens input{0};
  Tokens cached{0};  // They are a part of the input.
  Tokens output{0};
  Tokens reasoning{0};  // They are a part of the output.

  bool operator==(const TokenUse&) const = default;
};

// A place between two lines of an input.
struct InputPlace {
  int64_t offset = 0;  // The place of the next line's first byte.
  int64_t lines = 0;   // The lines before it, empty ones too.

  bool operator==(const InputPlace&) const = default;
};

struct NewBatch {
  TenantId tenant;
  std::string tenant_name;  // As configured; empty where none is.
  std::string input_file_id;
  std::string endpoint;           // "/v1/chat/completions".
  std::string completion_window;  // "24h", as the client wrote it.
  UnixSeconds expires_at{0};
  std::string metadata;                          // A JSON object; empty: null.
  std::optional<Duration> output_expires_after;  // Nullopt: by the default of the store.

  bool operator==(const NewBatch&) const = default;
};

// One batch, as /v1/batches shows it.
struct Batch : NewBatch {
  BatchKey key;
  std::string id;  // batch_...
  BatchStatus status = BatchStatus::kValidating;
  // The time at which each status began, by BatchStatus; that of kValidating is created_at.
  std::array<std::optional<UnixSeconds>, kBatchStatusCount> began;
  std::string errors;  // The JSON array `errors.data`; empty: null.
  LineCounts counts;
  std::string output_file_id;   // Empty before the end, and where no line has an answer.
  std::string error_file_id;    // The same for errors.
  InputPlace read_to;           // The lines before it are in the store. Validation goes on from here.
  std::string model;            // That of all good lines read so far; empty: they name several, or there is none.
  std::optional<TokenUse> use;  // The sum over the answers that are stored; nullopt: an older version made the batch.

  bool operator==(const Batch&) const = default;
  std::optional<UnixSeconds> Began(BatchStatus of) const { return began[static_cast<size_t>(of)]; }
  UnixSeconds created_at() const { return Began(BatchStatus::kValidating).value_or(UnixSeconds(0)); }
};

// A line of the input with the place of its bytes.
struct Line {
  int64_t number = 0;  // From 1, empty lines counted.
  int64_t offset = 0;  // In the input file.
  int64_t length = 0;  // Without its line end.

  bool operator==(const Line&) const = default;
};

// A line that validation has read.
struct NewLine : Line {
  std::string custom_id;  // Known by its hash from now on. Ignored with `error`.
  uint64_t order = 0;  // Lines are claimed by this number, then by their place: equal for lines with a common prefix.
  std::string error;   // Filled: the line fails at once, with this line (ending in \n) in the error file.
  std::string model;   // Ignored with `error`, and where it is empty.
};

// The end of a line. `text` is one line of the output file, or of the error file, and ends in \n.
struct LineAnswer {
  BatchKey batch;
  int64_t number = 0;
  bool failed = false;
  std::string text;
  TokenUse use{};
};

// A page of a list. OpenAI's order: by time of creation, equal times by insertion.
struct ListQuery {
  std::string after;  // The id behind which the page begins; empty: the first page.
  int limit = 20;
  bool newest_first = true;
  std::string purpose;  // A purpose of files; empty: all.
  // The page ends with the item that reaches so many bytes of text.
  int64_t most_bytes = INT64_MAX;
  std::optional<int64_t> behind;  // ListPage::place of the page before, in place of `after`.
};
template <class Item>
struct ListPage {
  std::vector<Item> items;
  bool has_more = false;
  int64_t place = 0;  // The place of the last item.
};

struct StoreLimits {
  Bytes max_file{Bytes(int64_t{512} << 20)};
  Bytes max_bytes_per_tenant{Bytes(int64_t{100} << 30)};
  int64_t max_files_per_tenant = 10'000;
  int64_t max_open_batches_per_tenant = 100;
  // A line takes 100 bytes of the database, and 300 in the error file where it is bad: some hundred megabytes.
  int64_t max_lines_per_batch = 2'000'000;
  std::optional<Duration> file_expiry;  // The life of a file whose client names none; nullopt: no end.
};

// Figures for metrics.
struct StoreUse {
  int64_t files = 0;
  Bytes bytes{0};
  int64_t open_batches = 0;
};

}  // namespace penstock::jobs

#endif  // PENSTOCK_ROUTER_JOBS_STORE_JOB_VALUES_H_
