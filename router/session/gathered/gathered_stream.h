// A stream on its way to a whole answer.
//
// An event that is too long for the turn of a loop is read on the thread beside it. Belongs to the loop of its session.
#ifndef PENSTOCK_ROUTER_SESSION_GATHERED_GATHERED_STREAM_H_
#define PENSTOCK_ROUTER_SESSION_GATHERED_GATHERED_STREAM_H_

#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backends/dialect/assembly/stream_assembler.h"
#include "backends/dialect/endpoint.h"
#include "backends/dialect/sse_splitter.h"
#include "router/session/state/text_parts.h"

namespace penstock {

class GatheredStream {
 public:
  explicit GatheredStream(Endpoint endpoint) : assembler_(std::make_unique<StreamAssembler>(endpoint)) {}

  // Takes the next events, up to a long one. An error: the stream makes no answer, and nothing else may be called.
  absl::Status Take(const std::vector<absl::string_view>& pieces);
  // The next event is long. TakeLong() must be awaited before anything else: it takes this event and those behind it,
  // up to the next long one.
  bool has_long() const { return long_.has_value(); }
  boost::asio::awaitable<absl::Status> TakeLong(boost::asio::io_context& loop);
  // The stream has ended: its answer. A long one is written beside the loop. Nothing else may be called any more.
  boost::asio::awaitable<absl::StatusOr<TextParts>> Finish(boost::asio::io_context& loop);

  // Bytes of the answer so far, with those of an event that has not ended.
  size_t bytes() const { return assembler_->bytes() + splitter_.Rest().size(); }
  // Bytes of memory: the whole buffer of events where it is long.
  size_t memory() const {
    return std::max(bytes(), splitter_.memory() > kLongBuffer ? assembler_->bytes() + splitter_.memory() : 0);
  }

 private:
  static constexpr size_t kLongBuffer = 256 << 10;

  absl::Status TakeEvents();

  SseSplitter splitter_;
  std::unique_ptr<StreamAssembler> assembler_;
  std::optional<SseSplitter::Event> long_;  // The next event, where it is long.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SESSION_GATHERED_GATHERED_STREAM_H_
