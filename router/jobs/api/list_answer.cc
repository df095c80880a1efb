#include "router/jobs/api/list_answer.h"

#include <utility>

#include "router/jobs/api/job_fault.h"

namespace penstock::jobs {
namespace asio = boost::asio;

namespace {

// The text of a slice in the store. Its JSON has six times as many bytes at worst.
constexpr int64_t kSliceText = 32 << 10;
// The room of a usual slice.
constexpr size_t kSliceRoom = 64 << 10;

std::string IdOrNull(const std::string& id) { return id.empty() ? std::string("null") : JsonQuote(id); }

ApiError FaultOfList(const JobError& error) {
  const bool of_cursor = error.kind == JobErrorKind::kNotFound || error.kind == JobErrorKind::kInvalid;
  return FaultOf(error, of_cursor ? "after" : "");
}

}  // namespace

std::string ListText::Next(const ListSlice& slice, bool ended) {
  std::string text(begun_ ? "," : "{\"object\":\"list\",\"data\":[");
  if (!begun_) first_id_ = slice.first_id;
  if (begun_ && slice.count == 0) text.clear();
  if (slice.count > 0) last_id_ = slice.last_id;
  begun_ = true;
  text += slice.items;
  if (!ended) return text;
  absl::StrAppend(&text, "],\"first_id\":", IdOrNull(first_id_), ",\"last_id\":", IdOrNull(last_id_),
                  ",\"has_more\":", slice.has_more ? "true" : "false", "}");
  return text;
}

asio::awaitable<Failed> AnswerList(StoreCall call, ListQuery query, ListSource source) {
  ListText text;
  query.most_bytes = kSliceText;
  for (bool ended = false; !ended;) {
    const bool first = !text.begun();
    bool room = call.memory.Hold(kSliceRoom);
    std::string part;
    if (room) {
      auto work = [source, query](JobStore& store) { return source(store, query); };
      const JobResult<ListSlice> slice = co_await call.store.CallInTurn(call.io, call.caller, std::move(work));
      if (!slice.ok()) {
        ApiError error = FaultOfList(slice.error());
        co_return co_await Fail(call, std::move(error));
      }
      query.limit -= slice->count;
      query.behind = slice->place;
      query.after.clear();
      ended = !slice->has_more || query.limit <= 0;
      part = text.Next(*slice, ended);
      room = call.memory.Hold(part.size());
    }
    if (!room) {
      ApiError error = NoRoom(call);
      co_return co_await Fail(call, std::move(error));
    }
    if (first && ended) co_return co_await AnswerJson(call, std::move(part));
    const HeaderList none;
    if (first) call.client.BeginWhole(kJsonType, none, std::nullopt);
    const bool alive = co_await SendPart(call.client, part);
    if (!alive) co_return std::nullopt;
  }
  (void)co_await call.client.End();
  co_return std::nullopt;
}

}  // namespace penstock::jobs
