// Files of the job store: bytes at known places, made durable on demand. Every failure is a JobError with the path.
#ifndef PENSTOCK_ROUTER_JOBS_STORE_DATA_FILE_H_
#define PENSTOCK_ROUTER_JOBS_STORE_DATA_FILE_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "router/jobs/store/job_error.h"

namespace penstock::jobs {

JobErrorKind KindOfErrno(int number);
// The failure of the newest system call, about `path`.
JobError SystemError(absl::string_view path);

// An open file. A move-only value.
class DataFile {
 public:
  enum class Mode { kRead, kWrite, kMake };  // kMake: the file may be missing.

  // Regular files only, and never waits for another process. kGone: something else, or a link, is in the place.
  static JobResult<DataFile> Open(const std::string& path, Mode mode);
  DataFile(DataFile&& other) noexcept
      : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}
  DataFile& operator=(DataFile&&) = delete;
  ~DataFile();

  JobResult<int64_t> Size() const;
  JobDone WriteAt(int64_t offset, absl::string_view bytes);
  // Bytes and size are on the disk.
  JobDone Sync();
  JobDone Truncate(int64_t size);
  // The disk has room for these bytes, which the file grows by. Its other bytes stay.
  JobDone Allocate(int64_t offset, int64_t length);
  // Fewer bytes at the end of the file only.
  JobResult<std::string> ReadAt(int64_t offset, int64_t length) const;
  // The same. kGone: there are fewer.
  JobResult<std::string> ReadWhole(int64_t offset, int64_t length) const;
  // kLocked: another process has it. The lock ends with the process.
  JobDone Lock();

 private:
  DataFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  std::string path_;
  int descriptor_;
};

// The names in a folder are on the disk.
JobDone SyncFolder(const std::string& folder);
JobDone MakeFolder(const std::string& folder);
JobDone Rename(const std::string& from, const std::string& to);
// A file that is not there is no error.
JobDone Remove(const std::string& path);

}  // namespace penstock::jobs

#endif  // PENSTOCK_ROUTER_JOBS_STORE_DATA_FILE_H_
