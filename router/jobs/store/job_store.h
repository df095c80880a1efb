// The durable job store: files, batches and the lines of batches, in one folder.
//
// The folder has a database (jobs.db), a lock, the bytes of files (files/ID) and those of uploads that go on
// (uploads/). A reserve of room lets a full disk take deletions. The outputs of batches grow among the files. The next
// start empties uploads/. The result of a call survives a kill of the process at any instant. It survives a power cut
// where the disk stores what it reports as stored. A failed call changed nothing.
//
// Synchronous: calls block for the time of the disk. Owned by JobThread, whose thread makes all calls.
#ifndef PENSTOCK_ROUTER_JOBS_STORE_JOB_STORE_H_
#define PENSTOCK_ROUTER_JOBS_STORE_JOB_STORE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "router/jobs/store/batch_table.h"
#include "router/jobs/store/file_table.h"
#include "router/jobs/store/job_error.h"
#include "router/jobs/store/job_values.h"
#include "router/jobs/store/line_table.h"

namespace penstock::jobs {

// A start found these in the folder, beside the files that the database knows.
struct StoreLeftovers {
  int64_t uploads = 0;      // Removed: uploads without an end.
  int64_t unknown = 0;      // Moved to unknown/: files that the database does not know.
  bool no_reserve = false;  // The disk has too little room for the whole reserve.
};

class JobStore {
 public:
  // Makes the folder where it is missing and its parent exists. Locks it, brings the database to the present version,
  // and clears what a killed router left half done. Every message names the folder. kDamaged: also where the database
  // of present files is missing or empty.
  static JobResult<std::unique_ptr<JobStore>> Open(const std::string& folder, const StoreLimits& limits);
  ~JobStore();
  JobStore(const JobStore&) = delete;
  JobStore& operator=(const JobStore&) = delete;

  FileTable& files();
  BatchTable& batches();
  LineTable& lines();

  void SetLimits(const StoreLimits& limits);
  // Files and ended batches whose time is over; lines of ended batches, a bounded number per call. True: there is more.
  JobResult<bool> Tidy(UnixSeconds now);
  StoreUse Use();
  // The findings of Open.
  const StoreLeftovers& leftovers() const;

 private:
  struct Parts;
  explicit JobStore(std::unique_ptr<Parts> parts);
  // Clears what a kill left half done.
  JobDone Recover();
  std::unique_ptr<Parts> parts_;
};

}  // namespace penstock::jobs

#endif  // PENSTOCK_ROUTER_JOBS_STORE_JOB_STORE_H_
