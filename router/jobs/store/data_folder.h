// The folder of the job store: its lock, and the places of its files. One thread.
#ifndef PENSTOCK_ROUTER_JOBS_STORE_DATA_FOLDER_H_
#define PENSTOCK_ROUTER_JOBS_STORE_DATA_FOLDER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "router/jobs/store/data_file.h"
#include "router/jobs/store/job_error.h"

namespace penstock::jobs {

class DataFolder {
 public:
  // Makes what is missing and takes the lock. The parent of the folder has to exist.
  static JobResult<std::unique_ptr<DataFolder>> Open(const std::string& folder);

  std::string DatabasePath() const { return absl::StrCat(root_, "/jobs.db"); }
  std::string ReservePath() const { return absl::StrCat(root_, "/reserve"); }
  std::string Files() const { return absl::StrCat(root_, "/files"); }
  std::string Uploads() const { return absl::StrCat(root_, "/uploads"); }
  std::string PathOf(absl::string_view file_id) const { return absl::StrCat(root_, "/files/", file_id); }
  std::string Unknown() const { return absl::StrCat(root_, "/unknown"); }
  std::string UploadPath(uint64_t upload) const { return absl::StrCat(root_, "/uploads/", upload); }

  // kDamaged: there are files, and the database that knows them is missing or empty. Such a database must not be
  // opened: it would begin anew, and SQLite would remove its log.
  JobDone CheckDatabase() const;
  // Files with names of the store.
  JobResult<int64_t> CountFiles() const;
  // Removes every upload. Returns their number. Folders stay: no upload is one.
  JobResult<int64_t> RemoveUploads();
  // Moves files with names of the store for which `known` is false to unknown/, which is no link. Returns their number.
  JobResult<int64_t> SetUnknownAside(const std::function<bool(const std::string& id)>& known);

 private:
  DataFolder(std::string root, DataFile lock) : root_(std::move(root)), lock_(std::move(lock)) {}

  const std::string root_;
  const DataFile lock_;
};

// The start is refused: the database of `count` files is gone.
JobError LostDatabase(const std::string& database, int64_t count);

// A fresh id: the prefix, then `digits` random ones from the system.
std::string NewId(absl::string_view prefix, int digits);
inline constexpr absl::string_view kFilePrefix = "file-";
inline constexpr int kFileIdDigits = 24;
inline constexpr absl::string_view kBatchPrefix = "batch_";

}  // namespace penstock::jobs

#endif  // PENSTOCK_ROUTER_JOBS_STORE_DATA_FOLDER_H_
