#include "router/session/state/short_body.h"

#include <algorithm>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "router/session/state/answer_memory.h"

namespace penstock {

boost::asio::awaitable<ShortBody> ReadShortBody(const SessionState& state, UpstreamExchange& exchange, size_t most) {
  AnswerMemory memory(state);
  ShortBody body;
  const auto take = [&](absl::string_view piece) {
    const size_t size = body.bytes.size() + piece.size();
    body.fits = size <= most && memory.Hold(size);
    if (body.fits) body.bytes.append(piece.data(), piece.size());
    return false;
  };
  const Instant end = Now() + state.Left(state.limits->gap_timeout);
  absl::StatusOr<bool> ended = false;
  while (body.fits && ended.ok() && !*ended) {
    const Duration left = std::max(Duration(), end - Now());
    ended = co_await exchange.ReadWhile(left, take);
  }
  if (!body.fits) body.bytes.clear();
  body.status = ended.status();
  co_return body;
}

}  // namespace penstock
