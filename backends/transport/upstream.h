// One HTTP/1.1 exchange with an engine over a pooled connection.
//
// All traffic to engines goes through this interface. A pool belongs to one io_context (one thread) and one engine
// address. The pool closes connections that are idle for longer than `idle_limit`, before the engine does. The end of
// an unfinished exchange closes its connection, because no other cancel works with all engines. A connection is never
// half closed. Cost: one system call per write and per read, no allocation per read, and no copy of a single body
// piece. Only a look-up of a host name uses another thread.
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
#include "backends/socket/tls.h"
#include "base/units.h"

namespace penstock {

class Connection;

struct UpstreamAddress {
  std::string host;
  uint16_t port = 80;
  std::string base_path;    // The prefix of every target, without trailing slash. Usually empty.
  bool tls = false;         // True for https.
  std::string socket_path;  // The path of a unix socket. Empty: TCP.
  bool operator==(const UpstreamAddress&) const = default;
};
absl::StatusOr<UpstreamAddress> ParseUpstreamUrl(absl::string_view url);
// True: nothing took connections at the address of the engine. Its process has ended, or does not listen yet.
bool WasRefused(const absl::Status& error);
// The value of Host: the port is left out where it is the usual one.
std::string HostOf(const UpstreamAddress& address);

struct UpstreamRequest {
  std::string method = "POST";
  std::string target;
  HeaderList headers;  // Without Host, Content-Length and Connection.
  // Written in order without a copy. Must stay valid until ReadHead() returns: a dead reused connection may show itself
  // only then, and the request is written again.
  std::vector<absl::string_view> body;
  // False: it is written to a fresh connection, and never again.
  bool repeatable = true;
  // The request asks for another protocol: a head with status 101 ends the exchange, and TakeConnection() has the rest.
  bool switches = false;
};

struct UpstreamHead {
  int status = 0;
  HeaderList headers;
  std::optional<uint64_t> length;  // Of the body, as announced.
  bool event_stream = false;       // Content-Type is text/event-stream.
  bool early = false;              // It came before the request was written in full.
};

// Move-only. The destructor closes the connection when the body has not ended. Otherwise it returns the connection to
// the pool, unless the engine does not keep it. After Abort() the connection never returns to the pool. Do not destroy
// or move an exchange while a read is pending. A read in a cancelled coroutine ends as Cancelled.
class UpstreamExchange {
 public:
  UpstreamExchange();
  UpstreamExchange(UpstreamExchange&&) noexcept;
  UpstreamExchange& operator=(UpstreamExchange&&) noexcept;
  ~UpstreamExchange();

  // Waits for the status line and the headers, and skips some interim 1xx answers. DeadlineExceeded; Unavailable: the
  // connection is lost; DataLoss: not HTTP, in a coding that nobody asked for, or a head of more than 64 KiB. May be
  // called again after DeadlineExceeded.
  boost::asio::awaitable<absl::StatusOr<UpstreamHead>> ReadHead(Duration timeout);
  // Gives the pieces of the decoded body to `take`, each within `timeout`, until `take` returns false or the body ends.
  // True at the end. A piece is valid during the call only. The caller is suspended at most once, so a piece costs no
  // coroutine. An engine that sends without a pause lets the loop do other work every half
  // millisecond, over all calls. DataLoss:
  // truncated chunk, wrong length or reset. DeadlineExceeded loses no bytes, and reading may continue. `take` must live
  // until then and must not destroy the exchange.
  using Take = absl::FunctionRef<bool(absl::string_view)>;
  boost::asio::awaitable<absl::StatusOr<bool>> ReadWhile(Duration timeout, Take take);
  // The next piece. An empty view is the end. Valid until the coroutine of the caller is suspended again.
  boost::asio::awaitable<absl::StatusOr<absl::string_view>> ReadSome(Duration timeout);
  // The rest of the body. OutOfRange above `limit` bytes.
  boost::asio::awaitable<absl::StatusOr<std::string>> ReadAll(Duration timeout, size_t limit);
  // The whole body as a view, if it came with the head and has at most `limit` bytes. Valid as long as the exchange.
  std::optional<absl::string_view> WholeAtHand(size_t limit);
  // The connections to which the request was written in full: two where the first was stale.
  int writes() const;
  // The connections that took a part of the request only.
  int partial_writes() const;
  // True once there is a connection: a failed sending then ended within the request.
  bool connected() const;
  // After a head with status 101, once. Its input may have begun. The connection never returns to the pool.
  std::shared_ptr<Connection> TakeConnection();
  // Closes the connection at once. A pending read ends as Cancelled. A second call does nothing.
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
    TlsContext::Pointer tls;  // Required for https.
    std::string server_name;  // The name in the certificate of the engine. Empty: the host.
  };
  UpstreamPool(boost::asio::io_context& loop, UpstreamAddress address, Options options);
  ~UpstreamPool();

  // Takes an idle connection or connects, and writes the request. An answer that begins meanwhile ends the writing, and
  // ReadHead() gives it as early. If the engine closed a reused connection before the first byte of the answer, a fresh
  // connection replaces it once. Unavailable, DeadlineExceeded, InvalidArgument (a
  // header contains a line break). ResourceExhausted: this machine lacks descriptors, memory or ports.
  boost::asio::awaitable<absl::StatusOr<UpstreamExchange>> Send(const UpstreamRequest& request, Duration timeout);
  // Send() in two steps, into the exchange of the caller. SendNow() does all that needs no wait and no coroutine. Null:
  // call FinishSend() for the rest. Do not move the exchange in between. Abort() ends the sending as Cancelled; while a
  // connection is being made, only after that.
  std::optional<absl::Status> SendNow(UpstreamExchange& exchange, UpstreamRequest request);
  boost::asio::awaitable<absl::Status> FinishSend(UpstreamExchange& exchange, Duration timeout);

  const UpstreamAddress& address() const;
  size_t idle() const;
  size_t open() const;  // Idle connections and connections in use.
  void CloseIdle();

 private:
  friend class UpstreamExchange;
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_TRANSPORT_UPSTREAM_H_
