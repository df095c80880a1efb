// The JSON of batches and of the lines of their output and error files, as OpenAI has it. Pure.
#ifndef PENSTOCK_ROUTER_JOBS_BATCH_BATCH_TEXT_H_
#define PENSTOCK_ROUTER_JOBS_BATCH_BATCH_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "router/jobs/store/job_values.h"

namespace penstock::jobs {

std::string BatchJson(const Batch& batch);

// The id of a line in its answer and at its engine: the same in every run.
std::string LineId(absl::string_view batch_id, int64_t number);

// The names of a line in its answer.
struct LineNames {
  std::string id;
  std::string custom_id;
};

// A line of the output file up to its body. MakeAnswerRow() makes all of it.
std::string AnswerHead(const LineNames& names, int status);
// A place in the input file, from 1; 0: unknown, and left out.
struct FaultPlace {
  int64_t line = 0;
  int64_t column = 0;
};
// A line of the error file without a response. An empty custom_id becomes null. Ends in \n.
std::string ErrorText(const LineNames& names, absl::string_view code, absl::string_view message,
                      FaultPlace place = FaultPlace());

// An element of `errors.data`.
struct BatchError {
  std::string code;
  std::string message;
  std::string param;  // Empty: null.
  int64_t line = 0;   // 0: null.
};
std::string BatchErrorJson(const BatchError& error);

}  // namespace penstock::jobs

#endif  // PENSTOCK_ROUTER_JOBS_BATCH_BATCH_TEXT_H_
