#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <utility>

#include "backends/transport/upstream_state.h"

namespace penstock {
namespace asio = boost::asio;

using ErrorCode = boost::system::error_code;

ErrorCode UpstreamExchange::State::WriteNow() {
  outgoing.unwritten.clear();
  outgoing.unwritten.reserve(1 + outgoing.body.size());
  outgoing.unwritten.push_back(asio::buffer(outgoing.head));
  for (absl::string_view piece : outgoing.body) outgoing.unwritten.emplace_back(piece.data(), piece.size());
  const size_t all = asio::buffer_size(outgoing.unwritten);
  const ErrorCode error = connection->WriteNow(outgoing.unwritten);
  outgoing.written = !error;
  outgoing.writes += error ? 0 : 1;
  const bool begun = error == asio::error::would_block || asio::buffer_size(outgoing.unwritten) < all;
  outgoing.begun += begun ? 1 : 0;
  return error;
}

asio::awaitable<ErrorCode> UpstreamExchange::State::WriteRest(Duration timeout) {
  const auto stop = [this] { return AnsweredEarly(); };
  const ErrorCode error = co_await connection->Write(std::move(outgoing.unwritten), timeout, stop);
  outgoing.written = !error;
  outgoing.writes += error ? 0 : 1;
  // An engine that ends without a byte has lost the request.
  if (error == asio::error::interrupted && !any_byte) co_return read_error;
  co_return error;
}

bool UpstreamExchange::State::AnsweredEarly() {
  while (connection->has_more()) {
    read_error = connection->ReadInput();
    if (read_error == asio::error::would_block) break;
    if (read_error) return true;
    Parse();
    const absl::StatusOr<bool> ready = HeadReady();
    if (ready.ok() && !*ready) continue;
    parser->KeepBody();
    return true;
  }
  return false;
}

bool UpstreamExchange::State::Answers(const ErrorCode& error) const {
  return !aborted && (error == asio::error::interrupted || connection->HasInput());
}

asio::awaitable<absl::Status> UpstreamExchange::State::SendFresh(Duration timeout) {
  const TimeLeft left(timeout);
  reused = false;
  connection.reset();
  auto fresh = co_await pool->Connect(timeout);
  if (!fresh.ok()) co_return fresh.status();
  if (aborted) co_return absl::CancelledError("exchange was aborted");
  connection = *std::move(fresh);
  ErrorCode error = WriteNow();
  if (error == asio::error::would_block) error = co_await WriteRest(left.value());
  // An engine may refuse a body and close before it has read all of it. Its answer is then better than a write error.
  if (error && !Answers(error)) co_return LostStatus("writing the request", error);
  co_return absl::OkStatus();
}

}  // namespace penstock
