#include "router/jobs/api/list_query.h"

#include <optional>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "router/openai/route/target.h"

namespace penstock::jobs {

std::variant<ListQuery, ApiError> ReadListQuery(absl::string_view target, const ListBounds& bounds) {
  ListQuery query;
  query.limit = bounds.usual;
  query.after = QueryParameter(target, "after").value_or("");
  query.purpose = QueryParameter(target, "purpose").value_or("");
  const std::optional<std::string> limit = QueryParameter(target, "limit");
  if (limit && (!absl::SimpleAtoi(*limit, &query.limit) || query.limit < 1 || query.limit > bounds.most)) {
    return MakeError(ErrorName::kInvalidValue, absl::StrCat("'limit' must be between 1 and ", bounds.most, "."),
                     "limit");
  }
  const std::string order = QueryParameter(target, "order").value_or("desc");
  if (order != "asc" && order != "desc") {
    return MakeError(ErrorName::kInvalidValue, "'order' must be 'asc' or 'desc'.", "order");
  }
  query.newest_first = order == "desc";
  return query;
}

}  // namespace penstock::jobs
