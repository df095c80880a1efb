// Files as OpenAI's objects. Pure.
#ifndef PENSTOCK_ROUTER_JOBS_API_FILE_JSON_H_
#define PENSTOCK_ROUTER_JOBS_API_FILE_JSON_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "router/jobs/store/job_values.h"
#include "router/openai/error/api_error.h"

namespace penstock::jobs {

std::string FileJson(const StoredFile& file);
std::string DeletedFileJson(absl::string_view id);

// A page of a list. `to_json` makes the object of one item.
template <class Item, class ToJson>
std::string ListJson(const ListPage<Item>& page, ToJson to_json) {
  std::string json = "{\"object\":\"list\",\"data\":[";
  for (const Item& item : page.items) absl::StrAppend(&json, &item == &page.items.front() ? "" : ",", to_json(item));
  const std::string first = page.items.empty() ? std::string("null") : JsonQuote(page.items.front().id);
  const std::string last = page.items.empty() ? std::string("null") : JsonQuote(page.items.back().id);
  absl::StrAppend(&json, "],\"first_id\":", first, ",\"last_id\":", last,
                  ",\"has_more\":", page.has_more ? "true" : "false", "}");
  return json;
}

}  // namespace penstock::jobs

#endif  // PENSTOCK_ROUTER_JOBS_API_FILE_JSON_H_
