// The row of a line with an answer, made of the answer's body. Pure.
//
// A body of many megabytes takes milliseconds for each, so no loop makes its row.
#ifndef PENSTOCK_ROUTER_JOBS_BATCH_ANSWER_ROW_H_
#define PENSTOCK_ROUTER_JOBS_BATCH_ANSWER_ROW_H_

#include <string>
#include <vector>

#include "router/jobs/batch/batch_text.h"
#include "router/jobs/store/job_values.h"

namespace penstock::jobs {

// A line of the output file, or of the error file where the status is an error.
struct AnswerRow {
  std::string text;  // Ends in \n.
  TokenUse use{};
  bool good = true;  // The body is a JSON value. Else the row has an error in its place.
};

// `body` comes in parts. Each one is freed when it is in the row, so the memory is that of one answer.
AnswerRow MakeAnswerRow(const LineNames& names, int status, std::vector<std::string> body);

}  // namespace penstock::jobs

#endif  // PENSTOCK_ROUTER_JOBS_BATCH_ANSWER_ROW_H_
