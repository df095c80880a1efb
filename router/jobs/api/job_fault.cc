#include "router/jobs/api/job_fault.h"

namespace penstock::jobs {
namespace {

ErrorName NameOf(JobErrorKind kind) {
  switch (kind) {
    case JobErrorKind::kNotFound:
      return ErrorName::kJobNotFound;
    case JobErrorKind::kInvalid:
      return ErrorName::kInvalidValue;
    case JobErrorKind::kConflict:
      return ErrorName::kJobConflict;
    case JobErrorKind::kFileTooLarge:
      return ErrorName::kFileTooLarge;
    case JobErrorKind::kQuota:
      return ErrorName::kJobQuota;
    case JobErrorKind::kDiskFull:
    case JobErrorKind::kReadOnly:
    case JobErrorKind::kGone:
    case JobErrorKind::kDamaged:
    case JobErrorKind::kLocked:
    case JobErrorKind::kIo:
      break;
  }
  return ErrorName::kJobStoreFailed;
}

absl::string_view MessageFor(const JobError& error) {
  switch (error.kind) {
    case JobErrorKind::kDiskFull:
      return "The disk of the router's job store is full.";
    case JobErrorKind::kReadOnly:
      return "The router's job store cannot be written.";
    case JobErrorKind::kGone:
      return "The bytes of the file are gone from the router's job store.";
    default:
      return IsFaultOfStore(error.kind) ? absl::string_view("The router's job store failed.")
                                        : absl::string_view(error.message);
  }
}

}  // namespace

ApiError FaultOf(const JobError& error, absl::string_view param) {
  ApiError fault = MakeError(NameOf(error.kind), MessageFor(error), param);
  if (IsFaultOfStore(error.kind)) fault.detail = error.message;
  return fault;
}

ApiError JobsOff() {
  return MakeError(ErrorName::kJobsOff,
                   "This router keeps no files and batches. They need the key `state.path` in its configuration.");
}

}  // namespace penstock::jobs
