// The files of the job store: uploads, lists, reading, deletion. JobStore's rules hold: one thread, blocking calls.
#ifndef PENSTOCK_ROUTER_JOBS_STORE_FILE_TABLE_H_
#define PENSTOCK_ROUTER_JOBS_STORE_FILE_TABLE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "router/jobs/store/file_readers.h"
#include "router/jobs/store/job_error.h"
#include "router/jobs/store/job_values.h"

namespace penstock::jobs {

class Database;
class DataFolder;
class DiskReserve;

// An upload that has begun; never used again for another one.
using UploadId = Id<struct UploadTag, uint64_t>;

// The fields that come with the bytes of an upload.
struct FileFacts {
  std::string purpose;
  std::string filename;
  std::optional<Duration> expires_after;  // Nullopt: by the default of the store.
};

class FileTable {
 public:
  FileTable(Database& database, DataFolder& folder, DiskReserve& reserve, const StoreLimits& limits);

  // kQuota where `announced` bytes or one more file exceed the tenant's limits. Uploads that run count.
  JobResult<UploadId> BeginUpload(TenantId tenant, Bytes announced);
  // An upload that fails is over, as after Abandon.
  JobDone Append(UploadId upload, absl::string_view bytes);
  // The file exists from here on.
  JobResult<StoredFile> Commit(UploadId upload, const FileFacts& facts, UnixSeconds now);
  // Leaves nothing behind. Nothing happens to an upload that is over.
  void Abandon(UploadId upload);

  JobResult<StoredFile> Find(TenantId tenant, absl::string_view id);
  JobResult<ListPage<StoredFile>> List(TenantId tenant, const ListQuery& query);
  // kConflict: a batch that has not ended reads it.
  JobDone Delete(TenantId tenant, absl::string_view id);
  // The same as Find for a download, which ends with readers().End(id).
  JobResult<StoredFile> BeginRead(TenantId tenant, absl::string_view id);
  FileReaders& readers() { return readers_; }
  // At most `length` bytes from `offset`; fewer at the end of the file only. kGone: the bytes are not there.
  JobResult<std::string> Read(absl::string_view id, int64_t offset, int64_t length);

  // kQuota: the files, uploads and open batches of the tenant may not have so many more bytes.
  JobDone CheckRoom(TenantId tenant, Bytes more = Bytes(0));
  // Removes files whose time is over, and that no open batch reads; at most `most`. The number that it removed.
  JobResult<int64_t> RemoveExpired(UnixSeconds now, int64_t most);
  // Adds the finished output of a batch as a file, in the transaction of the caller.
  JobDone Adopt(const StoredFile& file);
  // The transaction of Adopt was committed.
  void NoteAdopted(Bytes bytes);
  // The files of all tenants.
  int64_t count() const { return count_; }
  Bytes bytes() const { return bytes_; }

 private:
  friend class JobStore;

  struct Upload {
    TenantId tenant;
    Bytes announced{0};
    Bytes size{0};
    Bytes unsynced{0};
    Bytes checked{0};  // The size at the last look at the quota.
  };
  struct Use {
    int64_t files = 0;
    Bytes bytes{0};
  };

  // Counts the files that are there.
  JobDone Load();
  // Stored files, deleted ones that somebody reads, and running uploads, but for `except`.
  JobResult<Use> UseOf(TenantId tenant, UploadId except);
  JobDone CheckQuota(TenantId tenant, UploadId except, Bytes more);
  JobDone CheckBytes(const Use& use, Bytes more) const;
  JobDone AppendTo(UploadId id, Upload& upload, absl::string_view bytes);
  JobResult<StoredFile> Keep(UploadId id, const Upload& upload, const FileFacts& facts, UnixSeconds now);
  // Nullopt: no open batch reads the file.
  JobResult<std::optional<std::string>> ReaderOf(absl::string_view id);
  JobDone RemoveRow(const StoredFile& file);

  Database& database_;
  DataFolder& folder_;
  DiskReserve& reserve_;
  const StoreLimits& limits_;
  FileReaders readers_;
  absl::flat_hash_map<UploadId, Upload> uploads_;
  uint64_t begun_ = 0;
  int64_t count_ = 0;
  Bytes bytes_{0};
};

}  // namespace penstock::jobs

#endif  // PENSTOCK_ROUTER_JOBS_STORE_FILE_TABLE_H_
