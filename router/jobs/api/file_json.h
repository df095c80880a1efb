// Files as OpenAI's objects. Pure.
#ifndef PENSTOCK_ROUTER_JOBS_API_FILE_JSON_H_
#define PENSTOCK_ROUTER_JOBS_API_FILE_JSON_H_

#include <string>

#include "absl/strings/string_view.h"
#include "router/jobs/store/job_values.h"
#include "router/openai/error/api_error.h"

namespace penstock::jobs {

std::string FileJson(const StoredFile& file);
std::string DeletedFileJson(absl::string_view id);

}  // namespace penstock::jobs

#endif  // PENSTOCK_ROUTER_JOBS_API_FILE_JSON_H_
