#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "router/jobs/store/batch_table.h"
#include "router/jobs/store/columns.h"
#include "router/jobs/store/data_folder.h"
#include "router/jobs/store/database.h"
#include "router/jobs/store/disk_reserve.h"
#include "router/jobs/store/file_table.h"

namespace penstock::jobs {
namespace {

// Rows of lines that one call of Tidy removes: some tens of milliseconds.
constexpr int64_t kTidyLines = 10'000;
// Ended batches whose lines one call clears, and ended batches that it removes.
constexpr int64_t kClearedAtOnce = 200;
constexpr int64_t kTidyBatches = 1'000;
// Ended batches that the creation of a batch removes: more than it adds.
constexpr int64_t kForgottenAtOnce = 2;

}  // namespace

JobResult<bool> BatchTable::Close(const Output& output) {
  if (output.bytes == 0) return false;
  auto file = DataFile::Open(folder_.PathOf(output.id), DataFile::Mode::kWrite);
  if (!file.ok()) return file.error();
  const auto size = file->Size();
  if (!size.ok()) return size.error();
  if (*size < output.bytes) {
    return JobError{JobErrorKind::kGone, absl::StrCat(folder_.PathOf(output.id), ": the file was cut")};
  }
  if (JobDone cut = file->Truncate(output.bytes); !cut.ok()) return cut.error();
  if (JobDone synced = file->Sync(); !synced.ok()) return synced.error();
  return true;
}

JobDone BatchTable::Show(const Batch& batch, const Output& output, UnixSeconds now) {
  if (!output.shown) return Done();
  StoredFile file{.id = output.id,
                  .tenant = batch.tenant,
                  .purpose = "batch_output",
                  .filename = absl::StrCat(batch.id, "_", output.name, ".jsonl"),
                  .bytes = Bytes(output.bytes),
                  .created_at = now,
                  .expires_at = std::nullopt};
  const std::optional<Duration> life = batch.output_expires_after ? batch.output_expires_after : limits_.file_expiry;
  if (life) file.expires_at = now + UnixSeconds(Column(*life));
  return files_.Adopt(file);
}

JobDone BatchTable::CloseOutputs(const Batch& batch, BatchStatus status, std::array<Output, 2>& outputs) {
  {
    Query ends(database_, "SELECT output_id, output_bytes, error_id, error_bytes FROM batches WHERE key = ?1");
    ends.Bind(batch.key.value());
    if (!ends.Step()) return ends.ok() ? JobError{JobErrorKind::kNotFound, "No such batch."} : ends.error();
    outputs = {Output{ends.Text(0), ends.Int(1), "output", false}, Output{ends.Text(2), ends.Int(3), "error", false}};
  }
  for (Output& output : outputs) {
    const auto closed = Close(output);
    const bool left_out = !closed.ok() && status == BatchStatus::kFailed && closed.error().kind == JobErrorKind::kGone;
    if (!closed.ok() && !left_out) return closed.error();
    output.shown = closed.ok() && *closed;
  }
  return Done();
}

JobDone BatchTable::ShowAll(const Batch& batch, const std::array<Output, 2>& outputs, UnixSeconds now) {
  for (const Output& output : outputs) {
    if (JobDone shown = Show(batch, output, now); !shown.ok()) return shown;
  }
  Query shown(database_, "UPDATE batches SET output_shown = ?2, error_shown = ?3 WHERE key = ?1");
  shown.Bind(batch.key.value()).Bind(int64_t{outputs[0].shown}).Bind(int64_t{outputs[1].shown});
  return shown.Run();
}

JobResult<Batch> BatchTable::Finish(BatchKey key, BatchStatus status, UnixSeconds now, absl::string_view errors) {
  const auto batch = Find(key);
  if (!batch.ok()) return batch.error();
  if (!HasEnded(status) || !MayFollow(batch->status, status)) return Forbidden(*batch, status);
  std::array<Output, 2> outputs;
  if (JobDone closed = CloseOutputs(*batch, status, outputs); !closed.ok()) return closed.error();
  const JobDone written = reserve_.Lend([&] {
    Transaction change(database_);
    JobDone done = change.ok() ? ShowAll(*batch, outputs, now) : JobDone(change.error());
    if (done.ok()) done = Write(key, status, now, errors);
    if (done.ok()) done = change.Commit();
    return done;
  });
  if (!written.ok()) return written.error();
  open_ -= 1;
  for (const Output& output : outputs) {
    if (output.shown) files_.NoteAdopted(Bytes(output.bytes));
    if (!output.shown) (void)Remove(folder_.PathOf(output.id));
  }
  return Find(key);
}

JobDone BatchTable::CheckSize(const Batch& batch) {
  if (batch.counts.total > limits_.max_lines_per_batch) {
    return JobError{JobErrorKind::kQuota,
                    absl::StrCat("The input file has more than ", limits_.max_lines_per_batch, " lines.")};
  }
  return files_.CheckRoom(batch.tenant);
}

JobDone BatchTable::CutOff(const std::string& id, int64_t bytes) {
  if (bytes == 0) return Remove(folder_.PathOf(id));
  auto file = DataFile::Open(folder_.PathOf(id), DataFile::Mode::kWrite);
  if (!file.ok()) return file.error().kind == JobErrorKind::kGone ? Done() : JobDone(file.error());
  const auto size = file->Size();
  if (!size.ok()) return size.error();
  return *size > bytes ? file->Truncate(bytes) : Done();
}

JobDone BatchTable::Recover() {
  Query rows(database_, "SELECT output_id, output_bytes, error_id, error_bytes FROM batches WHERE ended_at IS NULL");
  open_ = 0;
  while (rows.Step()) {
    open_ += 1;
    if (JobDone cut = CutOff(rows.Text(0), rows.Int(1)); !cut.ok()) return cut;
    if (JobDone cut = CutOff(rows.Text(2), rows.Int(3)); !cut.ok()) return cut;
  }
  if (!rows.ok()) return rows.error();
  return Done();
}

JobDone BatchTable::KnownOutputs(const std::function<void(const std::string& id)>& known) {
  Query rows(database_, "SELECT output_id, error_id FROM batches WHERE ended_at IS NULL");
  while (rows.Step()) {
    known(rows.Text(0));
    known(rows.Text(1));
  }
  if (!rows.ok()) return rows.error();
  return Done();
}

JobDone BatchTable::ForgetOldest(TenantId tenant) {
  Query count(database_, "SELECT COUNT(*) FROM batches WHERE tenant = ?1 AND ended_at IS NOT NULL");
  count.Bind(Column(tenant));
  if (!count.Step()) return count.error();
  const int64_t beyond = count.Int(0) + 1 - limits_.max_files_per_tenant;
  if (beyond <= 0) return Done();
  Query forget(database_,
               "DELETE FROM batches WHERE key IN (SELECT key FROM batches WHERE tenant = ?1 AND ended_at IS NOT NULL "
               "AND has_lines = 0 AND NOT EXISTS (SELECT 1 FROM files WHERE files.id IN (batches.output_id, "
               "batches.error_id)) ORDER BY key LIMIT ?2)");
  forget.Bind(Column(tenant)).Bind(std::min(beyond, kForgottenAtOnce));
  return forget.Run();
}

JobResult<bool> BatchTable::ClearLines() {
  Transaction change(database_);
  if (!change.ok()) return change.error();
  int64_t left = kTidyLines;
  for (int64_t cleared = 0; cleared < kClearedAtOnce && left > 0; ++cleared) {
    // The planner would take the index of ends, and look at all of them.
    Query ended(database_,
                "SELECT key FROM batches INDEXED BY ended_with_lines WHERE ended_at IS NOT NULL AND has_lines = 1 "
                "LIMIT 1");
    if (!ended.Step()) {
      if (!ended.ok()) return ended.error();
      if (cleared == 0) return false;
      break;
    }
    const int64_t key = ended.Int(0);
    Query remove(database_,
                 "DELETE FROM lines WHERE batch = ?1 AND number IN "
                 "(SELECT number FROM lines WHERE batch = ?1 ORDER BY number LIMIT ?2)");
    remove.Bind(key).Bind(left);
    if (JobDone done = remove.Run(); !done.ok()) return done.error();
    left -= database_.Changes();
    if (left == 0) break;
    Query empty(database_, "UPDATE batches SET has_lines = 0 WHERE key = ?1");
    empty.Bind(key);
    if (JobDone done = empty.Run(); !done.ok()) return done.error();
  }
  if (JobDone done = change.Commit(); !done.ok()) return done.error();
  return true;
}

JobResult<bool> BatchTable::Tidy(UnixSeconds now) {
  auto lines = ClearLines();
  if (!lines.ok() || *lines) return lines;
  if (!limits_.file_expiry) return false;
  // Whoever asks for a batch must find the files of its answers, and the other way round.
  Query remove(database_,
               "DELETE FROM batches WHERE key IN (SELECT key FROM batches WHERE ended_at <= ?1 AND has_lines = 0 AND "
               "NOT EXISTS (SELECT 1 FROM files WHERE files.id IN (batches.output_id, batches.error_id)) LIMIT ?2)");
  remove.Bind(now.value() - Column(*limits_.file_expiry)).Bind(kTidyBatches);
  if (JobDone done = remove.Run(); !done.ok()) return done.error();
  return database_.Changes() == kTidyBatches;
}

}  // namespace penstock::jobs
