// One TCP connection to an engine, with its input and its deadline.
//
// An exchange or the idle list of a pool owns it. Used on the loop of the pool only, one operation at a time.
// Waits in the clear are for edges (readiness.h): a wait begins only when `more_` is false. An idle connection keeps a
// pending wait. Its end shows that the peer closed the connection or sent bytes without a request.
#ifndef PENSTOCK_BACKENDS_TRANSPORT_CONNECTION_H_
#define PENSTOCK_BACKENDS_TRANSPORT_CONNECTION_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "backends/transport/deadline.h"
#include "backends/transport/input_buffer.h"
#include "backends/transport/tls.h"
#include "base/units.h"

namespace penstock {

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using ErrorCode = boost::system::error_code;
  static constexpr size_t kHeadLimit = 64 << 10;                 // Bytes of a response head. A longer head is an error.
  static constexpr size_t kInputLimit = kHeadLimit + (4 << 10);  // Bytes of unparsed input.

  // `open` counts the living connections of the pool.
  Connection(boost::asio::io_context& loop, std::shared_ptr<size_t> open);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Tries the endpoints in order, all within `timeout`. Returns timed_out or the error of the last endpoint.
  boost::asio::awaitable<ErrorCode> Connect(std::vector<boost::asio::ip::tcp::endpoint> endpoints, Duration timeout);
  // Starts TLS over the connected socket. connection_reset when the certificate of the peer is not valid for `name`;
  // tls_error() then has the reason.
  boost::asio::awaitable<ErrorCode> StartTls(const TlsContext& context, const std::string& name, Duration timeout);
  std::string tls_error() const { return tls_ != nullptr ? tls_->error_text() : ""; }

  // Writes as many bytes as the socket takes at once, and removes them from `buffers`. would_block: a rest is left.
  ErrorCode WriteNow(std::vector<boost::asio::const_buffer>& buffers);
  // Writes the rest. Nearly all requests need only WriteNow(), which has no coroutine.
  boost::asio::awaitable<ErrorCode> Write(std::vector<boost::asio::const_buffer> buffers, Duration timeout);

  // The reader of a connection. Each wait ends with exactly one call.
  class Waiter {
   public:
    // There may be input, or `waited` is the error of the wait.
    virtual void OnInput(const ErrorCode& waited) = 0;
    // The loop was destroyed.
    virtual void OnLoopEnd() = 0;

   protected:
    ~Waiter() = default;
  };
  // Calls `waiter` when there may be input, or at the deadline. `waiter` must live until then. One wait at a time.
  void AwaitInput(Duration timeout, Waiter& waiter);
  // Appends the bytes of the socket to the input after a wait that ended with `waited`. Invalidates views into consumed
  // input. would_block: no bytes yet. timed_out: the connection stays usable. no_buffer_space: the input is full.
  ErrorCode TakeInput(const ErrorCode& waited);
  // True when a TakeInput() without a wait may find bytes.
  bool has_more() const { return more_; }
  // Ends a wait with operation_aborted.
  void CancelWait();

  // Call it before the connection becomes idle. It then watches the peer.
  void BeginIdle();
  // Idle connections only: true while the peer has neither closed nor sent bytes. No system call in the clear.
  bool Quiet();

  // The input that was not consumed. Parse it before the coroutine is suspended.
  absl::string_view input() const { return input_.view(); }
  // Removes consumed bytes. They stay in place until the coroutine is suspended.
  void Consume(size_t count) { input_.Consume(count); }
  // True when the input or the socket has bytes.
  bool HasInput();
  void Close();

 private:
  using Socket = boost::asio::ip::tcp::socket::rebind_executor<boost::asio::io_context::executor_type>::other;

  class Wait;

  void BeginWait();
  void OnWaited(const ErrorCode& error);
  bool SocketIsEmpty();
  ErrorCode ReadInput();
  // Turns operation_aborted into timed_out when the deadline has passed.
  ErrorCode Outcome(const ErrorCode& error);
  boost::asio::awaitable<ErrorCode> AwaitTls();

  Socket socket_;
  std::unique_ptr<TlsSession> tls_;  // Null: in the clear.
  Deadline deadline_;
  std::shared_ptr<size_t> open_;
  bool more_ = false;     // There may be bytes that no wait would announce.
  bool pending_ = false;  // A wait is pending.
  Waiter* waiter_ = nullptr;
  InputBuffer input_;
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_TRANSPORT_CONNECTION_H_
