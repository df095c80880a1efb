// A list of the store as a client gets it: slice by slice, each made on the store's thread.
//
// A list of any length so takes some milliseconds of the store at a time, and the memory of one slice. A file that is
// deleted meanwhile may still be in the list.
#ifndef PENSTOCK_ROUTER_JOBS_API_LIST_ANSWER_H_
#define PENSTOCK_ROUTER_JOBS_API_LIST_ANSWER_H_

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "router/jobs/api/store_call.h"
#include "router/jobs/store/job_values.h"

namespace penstock::jobs {

// Some items of a list as JSON.
struct ListSlice {
  std::string items;  // Objects with commas between them.
  std::string first_id;
  std::string last_id;
  int count = 0;
  bool has_more = false;
  int64_t place = 0;  // The same as ListPage::place.
};

// `to_json` makes the object of one item.
template <class Item, class ToJson>
ListSlice SliceOf(const ListPage<Item>& page, ToJson to_json) {
  ListSlice slice;
  slice.count = static_cast<int>(page.items.size());
  slice.has_more = page.has_more;
  slice.place = page.place;
  if (page.items.empty()) return slice;
  slice.first_id = page.items.front().id;
  slice.last_id = page.items.back().id;
  for (const Item& item : page.items) absl::StrAppend(&slice.items, slice.items.empty() ? "" : ",", to_json(item));
  return slice;
}

// The text of a list, in parts.
class ListText {
 public:
  // The next part. `ended`: it is the last one.
  std::string Next(const ListSlice& slice, bool ended);
  bool begun() const { return begun_; }

 private:
  bool begun_ = false;
  std::string first_id_;
  std::string last_id_;
};

// Reads one slice. On the store's thread.
using ListSource = std::function<JobResult<ListSlice>(JobStore&, const ListQuery&)>;

// Answers with the list. A fault behind the first part breaks the answer off.
boost::asio::awaitable<Failed> AnswerList(StoreCall call, ListQuery query, ListSource source);

}  // namespace penstock::jobs

#endif  // PENSTOCK_ROUTER_JOBS_API_LIST_ANSWER_H_
