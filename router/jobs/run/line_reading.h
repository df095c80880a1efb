// The reading of a batch's input on the store's thread: its validation, and the bytes of lines that are to run.
//
// Each call blocks for the time of the disk and of one slice of the input, so works of other batches come in between.
#ifndef PENSTOCK_ROUTER_JOBS_RUN_LINE_READING_H_
#define PENSTOCK_ROUTER_JOBS_RUN_LINE_READING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "router/jobs/run/line_run.h"
#include "router/jobs/store/job_store.h"

namespace penstock::jobs {

// Lines that run from here on, with their bytes.
struct ClaimedLines {
  std::vector<LineTask> tasks;
  std::vector<LineAnswer> broken;  // Their bytes are gone.
  bool drained = false;            // No further line is pending.
};
struct ClaimBounds {
  int64_t lines = 0;
  int64_t bytes = 0;  // One line may be longer.
};
JobResult<ClaimedLines> ClaimLines(JobStore& store, const Batch& batch, ClaimBounds bounds);

// Errors of lines that the batch itself lists; the error file has all.
inline constexpr size_t kMostErrorsOfBatch = 100;

// One slice of the validation.
struct ReadSlice {
  bool ended = false;               // The whole input is in the store.
  LineCounts counts;                // So far.
  std::vector<std::string> errors;  // BatchErrorJson of bad lines, the first kMostErrorsOfBatch of the slice.
  std::string refusal;              // BatchErrorJson: the batch fails.
};
// Reads on from Batch::read_to. A kill between two slices costs nothing: the next start reads on from there.
JobResult<ReadSlice> ReadOn(JobStore& store, BatchKey key);

}  // namespace penstock::jobs

#endif  // PENSTOCK_ROUTER_JOBS_RUN_LINE_READING_H_
