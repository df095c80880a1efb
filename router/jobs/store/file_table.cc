#include "router/jobs/store/file_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "router/jobs/store/columns.h"
#include "router/jobs/store/data_folder.h"
#include "router/jobs/store/database.h"
#include "router/jobs/store/disk_reserve.h"

namespace penstock::jobs {
namespace {

// An upload reaches the disk in steps of so many bytes, so that its end waits for few of them.
constexpr Bytes kSyncStep{int64_t{16} << 20};
// A line of an open batch in the database, with its indexes.
constexpr int64_t kRowBytes = 100;
// The text of a file in a list, without its name.
constexpr int64_t kTextOfFile = 200;
// The quota is looked at again after so many bytes beyond the announced ones.
constexpr Bytes kQuotaStep{int64_t{4} << 20};

JobError NoSuchFile(absl::string_view id) {
  return {JobErrorKind::kNotFound, absl::StrCat("No such File object: ", id.substr(0, 100))};
}

// The columns of FILE_COLUMNS.
StoredFile FileOf(const Query& row) {
  StoredFile file;
  file.id = row.Text(0);
  file.tenant = TenantId(static_cast<uint64_t>(row.Int(1)));
  file.purpose = row.Text(2);
  file.filename = row.Text(3);
  file.bytes = Bytes(row.Int(4));
  file.created_at = UnixSeconds(row.Int(5));
  if (const auto expires = row.MaybeInt(6)) file.expires_at = UnixSeconds(*expires);
  return file;
}

#define FILE_COLUMNS "SELECT id, tenant, purpose, filename, bytes, created_at, expires_at, sequence FROM files "
constexpr const char* kFileById = FILE_COLUMNS "WHERE id = ?1";
constexpr const char* kNewestFiles =
    FILE_COLUMNS "WHERE tenant = ?1 AND (?2 = '' OR purpose = ?2) AND sequence < ?3 ORDER BY sequence DESC LIMIT ?4";
constexpr const char* kOldestFiles =
    FILE_COLUMNS "WHERE tenant = ?1 AND (?2 = '' OR purpose = ?2) AND sequence > ?3 ORDER BY sequence LIMIT ?4";
constexpr const char* kExpiredFiles = FILE_COLUMNS
    "WHERE expires_at <= ?1 AND id NOT IN (SELECT input_file_id FROM batches WHERE ended_at IS NULL) "
    "ORDER BY expires_at LIMIT ?2";
#undef FILE_COLUMNS

}  // namespace

FileTable::FileTable(Database& database, DataFolder& folder, DiskReserve& reserve, const StoreLimits& limits)
    : database_(database), folder_(folder), reserve_(reserve), limits_(limits), readers_(folder) {}

JobDone FileTable::Load() {
  Query sums(database_, "SELECT COUNT(*), COALESCE(SUM(bytes), 0) FROM files");
  if (!sums.Step()) return sums.error();
  count_ = sums.Int(0);
  bytes_ = Bytes(sums.Int(1));
  return Done();
}

JobResult<FileTable::Use> FileTable::UseOf(TenantId tenant, UploadId except) {
  Query sums(
      database_,
      "SELECT COUNT(*), COALESCE(SUM(bytes), 0) + (SELECT COALESCE(SUM(output_bytes + error_bytes + total * ?2), "
      "0) FROM batches WHERE tenant = ?1 AND ended_at IS NULL) FROM files WHERE tenant = ?1");
  sums.Bind(Column(tenant)).Bind(kRowBytes);
  if (!sums.Step()) return sums.error();
  Use use{sums.Int(0), Bytes(sums.Int(1)) + readers_.LeftOf(tenant)};
  for (const auto& [id, upload] : uploads_) {
    if (id == except || upload.tenant != tenant) continue;
    use.files += 1;
    use.bytes += std::max(upload.announced, upload.size);
  }
  return use;
}

JobDone FileTable::CheckQuota(TenantId tenant, UploadId except, Bytes more) {
  const auto use = UseOf(tenant, except);
  if (!use.ok()) return use.error();
  if (use->files >= limits_.max_files_per_tenant) {
    return JobError{
        JobErrorKind::kQuota,
        absl::StrCat("You have as many files as you may have: ", limits_.max_files_per_tenant, ". Delete some first.")};
  }
  return CheckBytes(*use, more);
}

JobDone FileTable::CheckBytes(const Use& use, Bytes more) const {
  if (use.bytes + more <= limits_.max_bytes_per_tenant) return Done();
  return JobError{JobErrorKind::kQuota,
                  absl::StrCat("Your files and open batches may have ", limits_.max_bytes_per_tenant.value(),
                               " bytes together. They have ", use.bytes.value(), ", and need ", more.value(),
                               " more. Delete some files, or wait for a batch.")};
}

JobDone FileTable::CheckRoom(TenantId tenant, Bytes more) {
  const auto use = UseOf(tenant, UploadId());
  return use.ok() ? CheckBytes(*use, more) : JobDone(use.error());
}

JobResult<UploadId> FileTable::BeginUpload(TenantId tenant, Bytes announced) {
  const UploadId id(++begun_);
  if (JobDone quota = CheckQuota(tenant, id, announced); !quota.ok()) return quota.error();
  auto made = DataFile::Open(folder_.UploadPath(id.value()), DataFile::Mode::kMake);
  if (!made.ok()) return made.error();
  uploads_[id] = Upload{.tenant = tenant, .announced = announced};
  return id;
}

JobDone FileTable::Append(UploadId id, absl::string_view bytes) {
  const auto found = uploads_.find(id);
  if (found == uploads_.end()) return JobError{JobErrorKind::kConflict, "The upload is over."};
  JobDone done = AppendTo(id, found->second, bytes);
  if (!done.ok()) Abandon(id);
  return done;
}

JobDone FileTable::AppendTo(UploadId id, Upload& upload, absl::string_view bytes) {
  const Bytes size = upload.size + Bytes(static_cast<int64_t>(bytes.size()));
  if (size > limits_.max_file) {
    return JobError{JobErrorKind::kFileTooLarge,
                    absl::StrCat("The file is larger than ", limits_.max_file.value(), " bytes.")};
  }
  if (size > upload.announced && size - upload.checked > kQuotaStep) {
    if (JobDone quota = CheckQuota(upload.tenant, id, size); !quota.ok()) return quota;
    upload.checked = size;
  }
  auto file = DataFile::Open(folder_.UploadPath(id.value()), DataFile::Mode::kWrite);
  if (!file.ok()) return file.error();
  if (JobDone written = file->WriteAt(upload.size.value(), bytes); !written.ok()) return written;
  upload.unsynced += size - upload.size;
  upload.size = size;
  if (upload.unsynced < kSyncStep) return Done();
  upload.unsynced = Bytes(0);
  return file->Sync();
}

JobResult<StoredFile> FileTable::Commit(UploadId id, const FileFacts& facts, UnixSeconds now) {
  const auto found = uploads_.find(id);
  if (found == uploads_.end()) return JobError{JobErrorKind::kConflict, "The upload is over."};
  JobResult<StoredFile> kept = Keep(id, found->second, facts, now);
  kept.ok() ? (void)uploads_.erase(id) : Abandon(id);
  return kept;
}

// The name moves first: a kill before the row leaves a file that no row knows. The next start sets it aside.
JobResult<StoredFile> FileTable::Keep(UploadId id, const Upload& upload, const FileFacts& facts, UnixSeconds now) {
  if (JobDone quota = CheckQuota(upload.tenant, id, upload.size); !quota.ok()) return quota.error();
  StoredFile file{.id = NewId(kFilePrefix, kFileIdDigits),
                  .tenant = upload.tenant,
                  .purpose = facts.purpose,
                  .filename = facts.filename,
                  .bytes = upload.size,
                  .created_at = now,
                  .expires_at = std::nullopt};
  const std::optional<Duration> life = facts.expires_after ? facts.expires_after : limits_.file_expiry;
  if (life) file.expires_at = now + UnixSeconds(Column(*life));
  const std::string path = folder_.UploadPath(id.value());
  auto bytes = DataFile::Open(path, DataFile::Mode::kWrite);
  if (!bytes.ok()) return bytes.error();
  if (JobDone synced = bytes->Sync(); !synced.ok()) return synced.error();
  if (JobDone moved = Rename(path, folder_.PathOf(file.id)); !moved.ok()) return moved.error();
  JobDone done = SyncFolder(folder_.Files());
  if (done.ok()) done = Adopt(file);
  if (!done.ok()) {
    (void)Remove(folder_.PathOf(file.id));
    return done.error();
  }
  NoteAdopted(file.bytes);
  return file;
}

void FileTable::Abandon(UploadId upload) {
  if (uploads_.erase(upload) > 0) (void)Remove(folder_.UploadPath(upload.value()));
}

JobDone FileTable::Adopt(const StoredFile& file) {
  Query insert(database_,
               "INSERT INTO files(id, tenant, purpose, filename, bytes, created_at, expires_at) "
               "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)");
  insert.Bind(file.id).Bind(Column(file.tenant)).Bind(file.purpose).Bind(file.filename).Bind(file.bytes.value());
  insert.Bind(file.created_at.value()).Bind(Column(file.expires_at));
  return insert.Run();
}

void FileTable::NoteAdopted(Bytes bytes) {
  count_ += 1;
  bytes_ += bytes;
}

JobResult<StoredFile> FileTable::Find(TenantId tenant, absl::string_view id) {
  Query find(database_, kFileById);
  find.Bind(id);
  if (!find.Step()) return find.ok() ? NoSuchFile(id) : find.error();
  StoredFile file = FileOf(find);
  if (file.tenant != tenant) return NoSuchFile(id);
  return file;
}

JobResult<ListPage<StoredFile>> FileTable::List(TenantId tenant, const ListQuery& query) {
  int64_t place = query.behind.value_or(query.newest_first ? INT64_MAX : 0);
  if (!query.after.empty()) {
    Query cursor(database_, "SELECT sequence FROM files WHERE id = ?1 AND tenant = ?2");
    cursor.Bind(query.after).Bind(Column(tenant));
    if (!cursor.Step()) {
      if (!cursor.ok()) return cursor.error();
      return JobError{JobErrorKind::kInvalid, absl::StrCat("'after': ", NoSuchFile(query.after).message)};
    }
    place = cursor.Int(0);
  }
  Query rows(database_, query.newest_first ? kNewestFiles : kOldestFiles);
  rows.Bind(Column(tenant)).Bind(query.purpose).Bind(place).Bind(int64_t{query.limit} + 1);
  ListPage<StoredFile> page;
  int64_t bytes = 0;
  while (rows.Step()) {
    page.has_more = page.items.size() == static_cast<size_t>(query.limit) || bytes >= query.most_bytes;
    if (page.has_more) break;
    page.items.push_back(FileOf(rows));
    page.place = rows.Int(7);
    bytes += kTextOfFile + static_cast<int64_t>(page.items.back().filename.size());
  }
  if (!rows.ok()) return rows.error();
  return page;
}

JobResult<std::optional<std::string>> FileTable::ReaderOf(absl::string_view id) {
  Query reader(database_, "SELECT id FROM batches WHERE ended_at IS NULL AND input_file_id = ?1 LIMIT 1");
  reader.Bind(id);
  std::optional<std::string> batch;
  if (reader.Step()) batch = reader.Text(0);
  if (!reader.ok()) return reader.error();
  return batch;
}

JobDone FileTable::Delete(TenantId tenant, absl::string_view id) {
  const auto file = Find(tenant, id);
  if (!file.ok()) return file.error();
  const auto reader = ReaderOf(id);
  if (!reader.ok()) return reader.error();
  if (*reader) {
    return JobError{JobErrorKind::kConflict,
                    absl::StrCat("The file is the input of ", **reader, ", which has not ended. Cancel it first.")};
  }
  return RemoveRow(*file);
}

// The row goes first: a kill before the bytes are gone leaves a file that no row knows. The next start
// sets it aside.
JobDone FileTable::RemoveRow(const StoredFile& file) {
  JobDone done = reserve_.Lend([&] {
    Query remove(database_, "DELETE FROM files WHERE id = ?1");
    remove.Bind(file.id);
    return remove.Run();
  });
  if (!done.ok()) return done;
  count_ -= 1;
  bytes_ -= file.bytes;
  done = readers_.Remove(file);
  reserve_.Restore();
  return done;
}

JobResult<StoredFile> FileTable::BeginRead(TenantId tenant, absl::string_view id) {
  JobResult<StoredFile> file = Find(tenant, id);
  if (file.ok()) readers_.Begin(id);
  return file;
}

JobResult<std::string> FileTable::Read(absl::string_view id, int64_t offset, int64_t length) {
  Query size(database_, "SELECT bytes FROM files WHERE id = ?1");
  size.Bind(id);
  if (!size.Step()) return size.ok() ? NoSuchFile(id) : size.error();
  const int64_t wanted = std::clamp<int64_t>(size.Int(0) - offset, 0, length);
  auto file = DataFile::Open(folder_.PathOf(id), DataFile::Mode::kRead);
  if (!file.ok()) return file.error();
  return file->ReadWhole(offset, wanted);
}

JobResult<int64_t> FileTable::RemoveExpired(UnixSeconds now, int64_t most) {
  std::vector<StoredFile> expired;
  {
    Query rows(database_, kExpiredFiles);
    rows.Bind(now.value()).Bind(most);
    while (rows.Step()) expired.push_back(FileOf(rows));
    if (!rows.ok()) return rows.error();
  }
  for (const StoredFile& file : expired) {
    if (JobDone gone = RemoveRow(file); !gone.ok()) return gone.error();
  }
  return static_cast<int64_t>(expired.size());
}

}  // namespace penstock::jobs
