// One connection to an engine, with its input and its deadline.
//
// An exchange or the idle list of a pool owns it. Used on the loop of the pool only, one operation at a time. The mask
// of an idle connection shows that the peer closed it or sent bytes without a request.
#ifndef PENSTOCK_BACKENDS_TRANSPORT_CONNECTION_H_
#define PENSTOCK_BACKENDS_TRANSPORT_CONNECTION_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "backends/socket/deadline.h"
#include "backends/socket/stream_socket.h"
#include "backends/socket/suspended.h"
#include "backends/socket/tls.h"
#include "backends/transport/input_buffer.h"
#include "base/units.h"

namespace penstock {

class Connection final : public std::enable_shared_from_this<Connection>, private Readiness::Owner {
 public:
  using ErrorCode = boost::system::error_code;
  static constexpr size_t kHeadLimit = 64 << 10;                 // Bytes of a response head. A longer head is an error.
  static constexpr size_t kInputLimit = kHeadLimit + (4 << 10);  // Bytes of unparsed input.

  // `open` counts the living connections of the pool.
  Connection(boost::asio::io_context& loop, std::shared_ptr<size_t> open);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Connects to the first address that answers (connector.h), all within `timeout`. Returns timed_out or the error of
  // an address. Once, before all other calls.
  boost::asio::awaitable<ErrorCode> Connect(std::vector<SocketAddress> addresses, Duration timeout);
  // Starts TLS over the connected socket. connection_reset when the certificate of the peer is not valid for `name`;
  // tls_error() then has the reason.
  boost::asio::awaitable<ErrorCode> StartTls(const TlsContext& context, const std::string& name, Duration timeout);
  std::string tls_error() const { return socket_->tls() != nullptr ? socket_->tls()->error_text() : ""; }

  // Writes as many bytes as the socket takes at once, and removes them from `buffers`. would_block: a rest is left.
  ErrorCode WriteNow(std::vector<boost::asio::const_buffer>& buffers);
  // Writes the rest. Nearly all requests need only WriteNow(), which has no coroutine. Calls `stop` when there may be
  // input; true ends the writing as interrupted. `stop` must live until then.
  boost::asio::awaitable<ErrorCode> Write(std::vector<boost::asio::const_buffer> buffers, Duration timeout,
                                          absl::FunctionRef<bool()> stop);

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
  // Calls `waiter` when there may be input, or at the deadline. `waiter` must live until then. One wait at a time. A
  // call while has_more() is true lets the other work of the loop go first.
  void AwaitInput(Duration timeout, Waiter& waiter);
  // Appends the bytes of the socket to the input after a wait that ended with `waited`. Invalidates views into consumed
  // input. would_block: no bytes yet. timed_out: none before the deadline, and the connection stays usable.
  // no_buffer_space: the input is full.
  ErrorCode TakeInput(const ErrorCode& waited);
  // The same without a wait before it.
  ErrorCode ReadInput();
  // True when a TakeInput() without a wait may find bytes.
  bool has_more() const { return socket_->may_read(); }
  // Ends a wait with operation_aborted.
  void CancelWait();

  // True while the peer has neither closed nor sent unread bytes. Costs a system call after an event only.
  bool Quiet();

  // The input that was not consumed. Parse it before the coroutine is suspended.
  absl::string_view input() const { return input_.view(); }
  // Removes consumed bytes. They stay in place until the coroutine is suspended.
  void Consume(size_t count) { input_.Consume(count); }
  // The socket, for another protocol, which becomes its owner. Nothing else of the connection may be used but input().
  StreamSocket& Lend() { return *socket_; }
  // True when the input or the socket has bytes.
  bool HasInput();
  void Close();

 private:
  void OnReady() override;
  void OnLoopEnd() override;
  // Ends the pending operation with `error`, from a task of the loop.
  void EndWait(const ErrorCode& error);
  void Wake(const ErrorCode& error);
  boost::asio::awaitable<ErrorCode> AwaitSocket();

  boost::asio::io_context& loop_;
  std::unique_ptr<StreamSocket> socket_;  // Null until it is connected.
  Deadline deadline_;
  std::shared_ptr<size_t> open_;
  Waiter* waiter_ = nullptr;  // A reader waits.
  Suspended suspended_;       // A write or a handshake waits.
  ErrorCode woken_by_;        // The reason why it goes on.
  uint32_t wait_ = 0;         // The number of the last wait.
  InputBuffer input_;
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_TRANSPORT_CONNECTION_H_
