#include "router/jobs/store/batch_table.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "router/jobs/store/columns.h"
#include "router/jobs/store/data_folder.h"
#include "router/jobs/store/database.h"
#include "router/jobs/store/disk_reserve.h"
#include "router/jobs/store/file_table.h"

namespace penstock::jobs {
namespace {

constexpr int kBatchIdDigits = 32;
constexpr absl::string_view kBatchPurpose = "batch";
// The text of a batch in a list, without its errors and its metadata.
constexpr int64_t kTextOfBatch = 1000;

JobError NoSuchBatch(absl::string_view id) {
  return {JobErrorKind::kNotFound, absl::StrCat("No batch found with id '", id.substr(0, 100), "'.")};
}

// The columns of BATCH_COLUMNS.
Batch BatchOf(const Query& row) {
  Batch batch;
  batch.key = BatchKey(row.Int(0));
  batch.id = row.Text(1);
  batch.tenant = TenantId(static_cast<uint64_t>(row.Int(2)));
  batch.tenant_name = row.Text(3);
  batch.input_file_id = row.Text(4);
  batch.endpoint = row.Text(5);
  batch.completion_window = row.Text(6);
  batch.expires_at = UnixSeconds(row.Int(7));
  batch.metadata = row.Text(8);
  if (const auto life = row.MaybeInt(9)) batch.output_expires_after = Duration::Seconds(static_cast<double>(*life));
  batch.status = static_cast<BatchStatus>(row.Int(10));
  batch.errors = row.Text(11);
  batch.counts = {row.Int(12), row.Int(13), row.Int(14)};
  batch.read_to = {row.Int(15), row.Int(16)};
  batch.output_file_id = row.Text(17);
  batch.error_file_id = row.Text(18);
  for (int i = 0; i < kBatchStatusCount; ++i) {
    if (const auto began = row.MaybeInt(19 + i)) batch.began[static_cast<size_t>(i)] = UnixSeconds(*began);
  }
  batch.model = row.Text(27);
  if (const auto input = row.MaybeInt(28)) {
    batch.use = TokenUse{Tokens(*input), Tokens(row.Int(29)), Tokens(row.Int(30)), Tokens(row.Int(31))};
  }
  return batch;
}

#define BATCH_COLUMNS                                                                                       \
  "SELECT key, id, tenant, tenant_name, input_file_id, endpoint, completion_window, expires_at, metadata, " \
  "output_expires_after, status, errors, total, completed, failed, read_bytes, read_lines, "                \
  "iif(output_shown, output_id, ''), iif(error_shown, error_id, ''), "                                      \
  "began_0, began_1, began_2, began_3, began_4, began_5, began_6, began_7, "                                \
  "model, input_tokens, cached_tokens, output_tokens, reasoning_tokens FROM batches "
constexpr const char* kBatchById = BATCH_COLUMNS "WHERE id = ?1";
constexpr const char* kBatchByKey = BATCH_COLUMNS "WHERE key = ?1";
constexpr const char* kOpenBatches = BATCH_COLUMNS "WHERE ended_at IS NULL ORDER BY key";
constexpr const char* kNewestBatches = BATCH_COLUMNS "WHERE tenant = ?1 AND key < ?2 ORDER BY key DESC LIMIT ?3";
constexpr const char* kOldestBatches = BATCH_COLUMNS "WHERE tenant = ?1 AND key > ?2 ORDER BY key LIMIT ?3";
#undef BATCH_COLUMNS

constexpr const char* kInsertBatch =
    "INSERT INTO batches(id, tenant, tenant_name, input_file_id, endpoint, completion_window, expires_at, metadata, "
    "output_expires_after, status, began_0, output_id, error_id, model, input_tokens, cached_tokens, output_tokens, "
    "reasoning_tokens) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 0, ?10, ?11, ?12, '', 0, 0, 0, 0)";

// A statement per BatchStatus. The time of a status that a batch takes again stays.
constexpr std::array<const char*, kBatchStatusCount> kSetStatus = {
    "UPDATE batches SET status = 0, began_0 = coalesce(began_0, ?2) WHERE key = ?1",
    "UPDATE batches SET status = 1, began_1 = coalesce(began_1, ?2) WHERE key = ?1",
    "UPDATE batches SET status = 2, began_2 = coalesce(began_2, ?2) WHERE key = ?1",
    "UPDATE batches SET status = 3, began_3 = ?2, ended_at = ?2 WHERE key = ?1",
    "UPDATE batches SET status = 4, began_4 = ?2, ended_at = ?2 WHERE key = ?1",
    "UPDATE batches SET status = 5, began_5 = ?2, ended_at = ?2 WHERE key = ?1",
    "UPDATE batches SET status = 6, began_6 = coalesce(began_6, ?2) WHERE key = ?1",
    "UPDATE batches SET status = 7, began_7 = ?2, ended_at = ?2 WHERE key = ?1",
};

}  // namespace

JobError BatchTable::Forbidden(const Batch& batch, BatchStatus status) {
  return {JobErrorKind::kConflict,
          absl::StrCat("The batch ", batch.id, " is ", kBatchStatusNames[static_cast<size_t>(batch.status)],
                       " and cannot become ", kBatchStatusNames[static_cast<size_t>(status)], ".")};
}

bool MayFollow(BatchStatus from, BatchStatus to) {
  switch (from) {
    case BatchStatus::kValidating:
      return to == BatchStatus::kInProgress || to == BatchStatus::kFailed || to == BatchStatus::kExpired ||
             to == BatchStatus::kCancelling;
    case BatchStatus::kInProgress:
      return to == BatchStatus::kFinalizing || to == BatchStatus::kFailed || to == BatchStatus::kExpired ||
             to == BatchStatus::kCancelling;
    case BatchStatus::kFinalizing:
      return to == BatchStatus::kCompleted || to == BatchStatus::kFailed || to == BatchStatus::kExpired;
    case BatchStatus::kCancelling:
      return to == BatchStatus::kCancelled || to == BatchStatus::kFailed;
    case BatchStatus::kCompleted:
    case BatchStatus::kFailed:
    case BatchStatus::kExpired:
    case BatchStatus::kCancelled:
      break;
  }
  return false;
}

BatchTable::BatchTable(Database& database, DataFolder& folder, DiskReserve& reserve, FileTable& files,
                       const StoreLimits& limits)
    : database_(database), folder_(folder), reserve_(reserve), files_(files), limits_(limits) {}

JobDone BatchTable::CheckRoom(TenantId tenant) {
  Query count(database_, "SELECT COUNT(*) FROM batches WHERE tenant = ?1 AND ended_at IS NULL");
  count.Bind(Column(tenant));
  if (!count.Step()) return count.error();
  if (count.Int(0) >= limits_.max_open_batches_per_tenant) {
    return JobError{JobErrorKind::kQuota,
                    absl::StrCat("You have as many open batches as you may have: ", limits_.max_open_batches_per_tenant,
                                 ". Wait for the end of one, or cancel one.")};
  }
  return files_.CheckRoom(tenant);
}

JobResult<Batch> BatchTable::Create(const NewBatch& batch, UnixSeconds now) {
  const auto input = files_.Find(batch.tenant, batch.input_file_id);
  if (!input.ok()) return input.error();
  if (input->purpose != kBatchPurpose) {
    return JobError{JobErrorKind::kInvalid, absl::StrCat("The file ", batch.input_file_id, " has the purpose ",
                                                         input->purpose, ", not batch.")};
  }
  if (JobDone room = CheckRoom(batch.tenant); !room.ok()) return room.error();
  if (JobDone forgotten = ForgetOldest(batch.tenant); !forgotten.ok()) return forgotten.error();
  const std::string id = NewId(kBatchPrefix, kBatchIdDigits);
  const std::string output = NewId(kFilePrefix, kFileIdDigits), errors = NewId(kFilePrefix, kFileIdDigits);
  Query insert(database_, kInsertBatch);
  insert.Bind(id).Bind(Column(batch.tenant)).Bind(batch.tenant_name).Bind(batch.input_file_id).Bind(batch.endpoint);
  insert.Bind(batch.completion_window).Bind(batch.expires_at.value()).Bind(batch.metadata);
  insert.Bind(Column(batch.output_expires_after)).Bind(now.value()).Bind(output).Bind(errors);
  if (JobDone done = insert.Run(); !done.ok()) return done.error();
  open_ += 1;
  return Find(BatchKey(database_.LastRow()));
}

JobResult<Batch> BatchTable::Find(TenantId tenant, absl::string_view id) {
  Query find(database_, kBatchById);
  find.Bind(id);
  if (!find.Step()) return find.ok() ? NoSuchBatch(id) : find.error();
  Batch batch = BatchOf(find);
  if (batch.tenant != tenant) return NoSuchBatch(id);
  return batch;
}

JobResult<Batch> BatchTable::Find(BatchKey key) {
  Query find(database_, kBatchByKey);
  find.Bind(key.value());
  if (!find.Step()) return find.ok() ? NoSuchBatch(absl::StrCat(key.value())) : find.error();
  return BatchOf(find);
}

JobResult<ListPage<Batch>> BatchTable::List(TenantId tenant, const ListQuery& query) {
  int64_t place = query.behind.value_or(query.newest_first ? INT64_MAX : 0);
  if (!query.after.empty()) {
    const auto cursor = Find(tenant, query.after);
    if (!cursor.ok()) {
      if (cursor.error().kind != JobErrorKind::kNotFound) return cursor.error();
      return JobError{JobErrorKind::kInvalid, absl::StrCat("'after': ", cursor.error().message)};
    }
    place = cursor->key.value();
  }
  Query rows(database_, query.newest_first ? kNewestBatches : kOldestBatches);
  rows.Bind(Column(tenant)).Bind(place).Bind(int64_t{query.limit} + 1);
  ListPage<Batch> page;
  int64_t bytes = 0;
  while (rows.Step()) {
    page.has_more = page.items.size() == static_cast<size_t>(query.limit) || bytes >= query.most_bytes;
    if (page.has_more) break;
    page.items.push_back(BatchOf(rows));
    const Batch& batch = page.items.back();
    page.place = batch.key.value();
    bytes += kTextOfBatch + static_cast<int64_t>(batch.errors.size() + batch.metadata.size());
  }
  if (!rows.ok()) return rows.error();
  return page;
}

JobResult<std::vector<Batch>> BatchTable::Unfinished() {
  Query rows(database_, kOpenBatches);
  std::vector<Batch> batches;
  while (rows.Step()) batches.push_back(BatchOf(rows));
  if (!rows.ok()) return rows.error();
  return batches;
}

JobDone BatchTable::Write(BatchKey key, BatchStatus status, UnixSeconds now, absl::string_view errors) {
  Query set(database_, kSetStatus[static_cast<size_t>(status)]);
  set.Bind(key.value()).Bind(now.value());
  if (JobDone done = set.Run(); !done.ok() || errors.empty()) return done;
  return SetErrors(key, errors);
}

JobDone BatchTable::SetErrors(BatchKey key, absl::string_view errors) {
  Query set(database_, "UPDATE batches SET errors = ?2 WHERE key = ?1");
  set.Bind(key.value()).Bind(errors);
  return set.Run();
}

JobResult<Batch> BatchTable::SetStatus(BatchKey key, BatchStatus status, UnixSeconds now, absl::string_view errors) {
  if (HasEnded(status)) return Finish(key, status, now, errors);
  const auto batch = Find(key);
  if (!batch.ok()) return batch.error();
  if (!MayFollow(batch->status, status)) return Forbidden(*batch, status);
  const auto write = [&]() -> JobDone {
    Transaction change(database_);
    if (!change.ok()) return change.error();
    if (JobDone done = Write(key, status, now, errors); !done.ok()) return done;
    return change.Commit();
  };
  // A batch that begins needs more room; all others are on the way to their end.
  const JobDone written = status == BatchStatus::kInProgress ? write() : reserve_.Lend(write);
  if (!written.ok()) return written.error();
  return Find(key);
}

}  // namespace penstock::jobs
