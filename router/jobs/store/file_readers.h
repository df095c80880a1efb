// The downloads that go on, and the deleted files that they still read. JobStore's rules hold: one thread, blocking
// calls.
//
// A download holds no descriptor: each piece opens the file anew. A file that is deleted meanwhile moves to the
// uploads, which the next start empties. Its bytes go with the end of its last download, and count against its tenant
// until then.
#ifndef PENSTOCK_ROUTER_JOBS_STORE_FILE_READERS_H_
#define PENSTOCK_ROUTER_JOBS_STORE_FILE_READERS_H_

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "router/jobs/store/job_error.h"
#include "router/jobs/store/job_values.h"

namespace penstock::jobs {

class DataFolder;

class FileReaders {
 public:
  explicit FileReaders(const DataFolder& folder) : folder_(folder) {}

  // Every Begin needs an End with the same id.
  void Begin(absl::string_view id);
  void End(absl::string_view id);
  // Exactly `length` bytes from `offset`, also of a file that was deleted behind Begin. kGone: they are not there.
  JobResult<std::string> Read(absl::string_view id, int64_t offset, int64_t length) const;

  // Nobody finds the file any more: its bytes go now, or with its last reader.
  JobDone Remove(const StoredFile& file);
  // The bytes of deleted files that somebody still reads.
  Bytes LeftOf(TenantId tenant) const;

 private:
  struct Reading {
    int64_t readers = 0;
    // The rest is set with it.
    bool deleted = false;
    TenantId tenant;
    Bytes bytes{0};
  };

  std::string DeletedPath(absl::string_view id) const;

  const DataFolder& folder_;
  absl::flat_hash_map<std::string, Reading> readings_;
};

}  // namespace penstock::jobs

#endif  // PENSTOCK_ROUTER_JOBS_STORE_FILE_READERS_H_
