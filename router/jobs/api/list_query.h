// The parameters of a list: after, limit, order, purpose. Pure.
#ifndef PENSTOCK_ROUTER_JOBS_API_LIST_QUERY_H_
#define PENSTOCK_ROUTER_JOBS_API_LIST_QUERY_H_

#include <variant>

#include "absl/strings/string_view.h"
#include "router/jobs/store/job_values.h"
#include "router/openai/error/api_error.h"

namespace penstock::jobs {

struct ListBounds {
  int usual = 20;
  int most = 100;
};
inline constexpr ListBounds kFileList{10'000, 10'000};
inline constexpr ListBounds kBatchList{20, 100};

// `target`: of the request, with its query.
std::variant<ListQuery, ApiError> ReadListQuery(absl::string_view target, const ListBounds& bounds);

}  // namespace penstock::jobs

#endif  // PENSTOCK_ROUTER_JOBS_API_LIST_QUERY_H_
