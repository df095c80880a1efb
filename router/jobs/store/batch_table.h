// The batches of the job store. JobStore's rules hold: one thread, blocking calls.
#ifndef PENSTOCK_ROUTER_JOBS_STORE_BATCH_TABLE_H_
#define PENSTOCK_ROUTER_JOBS_STORE_BATCH_TABLE_H_

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "router/jobs/store/job_error.h"
#include "router/jobs/store/job_values.h"

namespace penstock::jobs {

class Database;
class DataFolder;
class DiskReserve;
class FileTable;

class BatchTable {
 public:
  BatchTable(Database& database, DataFolder& folder, DiskReserve& reserve, FileTable& files, const StoreLimits& limits);

  // kNotFound: the tenant has no such file. kInvalid: its purpose is not batch.
  JobResult<Batch> Create(const NewBatch& batch, UnixSeconds now);
  JobResult<Batch> Find(TenantId tenant, absl::string_view id);
  JobResult<Batch> Find(BatchKey key);
  JobResult<ListPage<Batch>> List(TenantId tenant, const ListQuery& query);
  // Returns the batches of all tenants that have not ended, oldest first.
  JobResult<std::vector<Batch>> Unfinished();

  // kConflict where MayFollow forbids it. A status that ends the batch is Finish. `errors`: the JSON array of
  // errors.data; empty: unchanged.
  JobResult<Batch> SetStatus(BatchKey key, BatchStatus status, UnixSeconds now, absl::string_view errors = "");
  // Replaces the JSON array errors.data of a batch that is validated.
  JobDone SetErrors(BatchKey key, absl::string_view errors);
  // Ends the batch: one durable step makes its output and error files visible to the tenant and sets the status. Lines
  // without an answer never run again. kGone: an output is not in the folder any more; as kFailed it is left out.
  JobResult<Batch> Finish(BatchKey key, BatchStatus status, UnixSeconds now, absl::string_view errors = "");

  // kQuota: the batch has more lines than it may, or its tenant more bytes.
  JobDone CheckSize(const Batch& batch);

  // Removes some lines of ended batches, and ended batches that are older than the life of files. True: there is more.
  JobResult<bool> Tidy(UnixSeconds now);
  int64_t open_count() const { return open_; }

 private:
  // kQuota: the tenant has as many open batches, or bytes, as it may have.
  JobDone CheckRoom(TenantId tenant);
  // Removes some lines of ended batches. False: there are none.
  JobResult<bool> ClearLines();
  // Forgets the oldest ended batches of a tenant that has as many as it may have files. One whose answers exist stays.
  JobDone ForgetOldest(TenantId tenant);
  friend class JobStore;

  // An output that ends.
  struct Output {
    std::string id;
    int64_t bytes = 0;
    absl::string_view name;
    bool shown = false;
  };

  // Counts the open batches, and cuts off what a kill left behind the known ends of their outputs.
  JobDone Recover();
  JobDone CutOff(const std::string& id, int64_t bytes);
  JobDone KnownOutputs(const std::function<void(const std::string& id)>& known);
  // Makes the bytes of an output durable at their known end. False: it is empty.
  JobResult<bool> Close(const Output& output);
  // Reads both outputs and closes them.
  JobDone CloseOutputs(const Batch& batch, BatchStatus status, std::array<Output, 2>& outputs);
  // Makes files of those that are not empty, in the transaction of the caller.
  JobDone Show(const Batch& batch, const Output& output, UnixSeconds now);
  JobDone ShowAll(const Batch& batch, const std::array<Output, 2>& outputs, UnixSeconds now);
  static JobError Forbidden(const Batch& batch, BatchStatus status);
  JobDone Write(BatchKey key, BatchStatus status, UnixSeconds now, absl::string_view errors);

  Database& database_;
  DataFolder& folder_;
  DiskReserve& reserve_;
  FileTable& files_;
  const StoreLimits& limits_;
  int64_t open_ = 0;
};

}  // namespace penstock::jobs

#endif  // PENSTOCK_ROUTER_JOBS_STORE_BATCH_TABLE_H_
