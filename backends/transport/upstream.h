// One HTTP/1.1 exchange with an engine over a pooled connection.
//
// The relay and the pollers use this and nothing else of the network towards engines. A pool belongs to one io_context
// (one thread) and one engine address; connections idle for longer than `idle_limit` are closed by us first (vLLM
// closes at 5 s, so the default is 4 s). Closing an exchange that has not ended closes its connection: that is the only
// portable way to cancel a request. We never half-close. Cost: one system call to write and one per read; no allocation
// per read, no copy of body bytes, no thread hop except to look up a host name.
#ifndef PENSTOCK_BACKENDS_TRANSPORT_UPSTREAM_H_
#define PENSTOCK_BACKENDS_TRANSPORT_UPSTREAM_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backends/dialect/headers.h"
#include "backends/transport/tls.h"
#include "base/units.h"

namespace penstock {

struct UpstreamAddress {
  std::string host;
  uint16_t port = 80;
  std::string base_path;  // Prefix of every target, without trailing slash; usually empty.
  bool tls = false;       // https
  bool operator==(const UpstreamAddress&) const = default;
};
absl::StatusOr<UpstreamAddress> ParseUpstreamUrl(absl::string_view url);

struct UpstreamRequest {
  std::string method = "POST";
  std::string target;
  HeaderList headers;  // Besides Host, Content-Length, Connection.
  // Written in order without copying. Must stay valid until ReadHead returned: a kept connection that turns out to be
  // dead may show it only then, and the request is written again.
  std::vector<absl::string_view> body;
};

struct UpstreamHead {
  int status = 0;
  HeaderList headers;
  bool event_stream = false;                             // Content-Type is text/event-stream.
  absl::string_view Find(absl::string_view name) const;  // Case-insensitive; empty when absent.
};

// Move-only. Destroying it before the end of the body closes the connection, after it returns it to the pool, unless
// the engine said or showed that it will not keep it. Abort() before destroying keeps it out of the pool in any case.
// Must not be destroyed or moved while a read is pending; a read in a coroutine that is cancelled ends as Cancelled.
class UpstreamExchange {
 public:
  UpstreamExchange();
  UpstreamExchange(UpstreamExchange&&) noexcept;
  UpstreamExchange& operator=(UpstreamExchange&&) noexcept;
  ~UpstreamExchange();

  // Waits for the status line and headers; interim 1xx answers are skipped. DeadlineExceeded, Unavailable (connection
  // lost), DataLoss (not HTTP, or a head of more than 64 KiB). After DeadlineExceeded it may be called again.
  boost::asio::awaitable<absl::StatusOr<UpstreamHead>> ReadHead(Duration timeout);
  // Gives the pieces of the decoded body to `take` as they arrive, each within `timeout`, until it returns false or the
  // body ends; true at the end. A piece lies in a buffer of the thread and is valid during the call only. The caller is
  // suspended at most once: a piece costs no coroutine. `take` must live until then, and must not destroy the exchange.
  // DataLoss: truncated chunk, wrong length, reset. DeadlineExceeded loses nothing: reading may go on.
  using Take = absl::FunctionRef<bool(absl::string_view)>;
  boost::asio::awaitable<absl::StatusOr<bool>> ReadWhile(Duration timeout, Take take);
  // The next piece alone; an empty view is the end. Valid until the caller's coroutine is suspended the next time.
  boost::asio::awaitable<absl::StatusOr<absl::string_view>> ReadSome(Duration timeout);
  // The whole rest of the body; ResourceExhausted above `limit`.
  boost::asio::awaitable<absl::StatusOr<std::string>> ReadAll(Duration timeout, size_t limit);
  // The same if all of it came with the head and is no longer than `limit`: a view, valid as long as the exchange.
  std::optional<absl::string_view> WholeAtHand(size_t limit);
  // Closes the connection at once; a pending read on it ends as Cancelled. Idempotent.
  void Abort();

 private:
  friend class UpstreamPool;
  struct State;
  std::unique_ptr<State> state_;
};

class UpstreamPool {
 public:
  struct Options {
    Duration connect_timeout = Duration::Seconds(3);
    Duration idle_limit = Duration::Seconds(4);
    size_t max_idle = 256;
    // Of https addresses: whom to trust, and the name the engine must have (empty: its host).
    TlsContext::Pointer tls;
    std::string server_name;
  };
  UpstreamPool(boost::asio::io_context& loop, UpstreamAddress address, Options options);
  ~UpstreamPool();

  // Takes an idle connection or connects, and writes the request. A kept connection that turns out to be closed before
  // any byte of the answer came is replaced by a fresh one, once. Errors: Unavailable, DeadlineExceeded,
  // InvalidArgument (a header holds a line break).
  boost::asio::awaitable<absl::StatusOr<UpstreamExchange>> Send(const UpstreamRequest& request, Duration timeout);
  // The same in two steps, into the caller's exchange. First what needs no wait, and no coroutine: none if that was not
  // all, and then FinishSend has to be called. The exchange must stay where it is meanwhile: its Abort() ends the
  // sending too, as Cancelled, though a connection being made only once that is through.
  std::optional<absl::Status> SendNow(UpstreamExchange& exchange, const UpstreamRequest& request);
  boost::asio::awaitable<absl::Status> FinishSend(UpstreamExchange& exchange, Duration timeout);

  const UpstreamAddress& address() const;
  size_t idle() const;
  size_t open() const;  // Idle and in use.
  void CloseIdle();

 private:
  friend class UpstreamExchange;
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_TRANSPORT_UPSTREAM_H_
