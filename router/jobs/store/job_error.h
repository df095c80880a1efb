// Failures of the job store as values, and the result type of its calls. Pure.
#ifndef PENSTOCK_ROUTER_JOBS_STORE_JOB_ERROR_H_
#define PENSTOCK_ROUTER_JOBS_STORE_JOB_ERROR_H_

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/string_view.h"

namespace penstock::jobs {

enum class JobErrorKind : uint8_t {
  kNotFound,      // No such file or batch, or it is another tenant's.
  kInvalid,       // The request makes no sense: an unknown cursor, a file of the wrong purpose.
  kConflict,      // The present state forbids it: a file in use, a batch that has ended.
  kFileTooLarge,  // Over max_file.
  kQuota,         // The tenant's number or bytes of files are used up.
  kDiskFull,
  kReadOnly,
  kGone,     // Bytes of a known file are not in the folder any more, fewer than were stored, or no regular file.
  kDamaged,  // The database is no job store, or is damaged, or of a newer version.
  kLocked,   // Another router has the folder.
  kIo,       // Any other failure of the system.
};
inline constexpr int kJobErrorKindCount = 11;
// Labels of metrics.
inline constexpr std::array<absl::string_view, kJobErrorKindCount> kJobErrorLabels = {
    "not_found", "invalid", "conflict", "file_too_large", "quota", "disk_full",
    "read_only", "gone",    "damaged",  "locked",         "io"};

constexpr absl::string_view LabelOf(JobErrorKind kind) { return kJobErrorLabels[static_cast<size_t>(kind)]; }
// The client can do nothing about it.
constexpr bool IsFaultOfStore(JobErrorKind kind) { return kind >= JobErrorKind::kDiskFull; }

struct JobError {
  JobErrorKind kind = JobErrorKind::kIo;
  std::string
      message;  // For a client where the kind is its fault; else for the log, with the path and the system's reason.
};

// A value or a JobError.
//
//   JobResult<StoredFile> found = store.files().Find(tenant, id);
//   if (!found.ok()) return found.error();
//   Use(*found);
template <class T>
class [[nodiscard]] JobResult : public std::variant<T, JobError> {
 public:
  using std::variant<T, JobError>::variant;

  bool ok() const { return this->index() == 0; }
  // Only after ok().
  const T& operator*() const& { return std::get<0>(*this); }
  T& operator*() & { return std::get<0>(*this); }
  T&& operator*() && { return std::get<0>(std::move(*this)); }
  const T* operator->() const { return &std::get<0>(*this); }
  T* operator->() { return &std::get<0>(*this); }
  // Only after !ok().
  const JobError& error() const { return std::get<1>(*this); }
};

// A fault of the store that may be over at the next try.
template <class T>
bool MayPass(const JobResult<T>& result) {
  return !result.ok() && IsFaultOfStore(result.error().kind) && result.error().kind != JobErrorKind::kGone;
}

// The result of a call without a value.
using JobDone = JobResult<std::monostate>;
inline JobDone Done() { return std::monostate(); }

}  // namespace penstock::jobs

#endif  // PENSTOCK_ROUTER_JOBS_STORE_JOB_ERROR_H_
