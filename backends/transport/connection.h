// One TCP connection towards an engine with its input buffer and its deadline.
//
// Owned by an exchange or by the idle list of a pool, and used on that pool's loop only. One operation at a time.
// Deadlines: each operation stores a point in time; the one timer is armed only when none is pending or when the new
// point is earlier than the pending one, and re-armed when it fires early. A stream that reads every few milliseconds
// under a timeout of a minute therefore costs one clock read per operation and one timer per minute.
// Input: what arrives is read into one buffer of the thread and parsed there, so a connection that waits holds no
// buffer. What a parse leaves over (a chunk's cut frame, a cut head) moves into the connection's own carry, which is
// bounded by kInputLimit.
// Waits in the clear are for edges (readiness.h): a wait begins only when `more_` is false. An idle connection keeps a
// wait begun, whose end tells that the peer closed it or sent something unasked.
#ifndef PENSTOCK_BACKENDS_TRANSPORT_CONNECTION_H_
#define PENSTOCK_BACKENDS_TRANSPORT_CONNECTION_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "backends/transport/tls.h"
#include "base/units.h"

namespace penstock {

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using ErrorCode = boost::system::error_code;
  static constexpr size_t kHeadLimit = 64 << 10;  // Of a response head; longer is not HTTP to us.
  static constexpr size_t kInputLimit = kHeadLimit + (4 << 10);

  // `open` counts living connections of the pool.
  Connection(boost::asio::io_context& loop, std::shared_ptr<size_t> open);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Tries the endpoints in order within `timeout` in all. timed_out, or the last endpoint's error.
  boost::asio::awaitable<ErrorCode> Connect(std::vector<boost::asio::ip::tcp::endpoint> endpoints, Duration timeout);
  // TLS over the connected socket: everything after it goes through. connection_reset when the peer is not who it
  // should be; tls_error() says why.
  boost::asio::awaitable<ErrorCode> StartTls(const TlsContext& context, const std::string& name, Duration timeout);
  std::string tls_error() const { return tls_ != nullptr ? tls_->error_text() : ""; }
  // Writes what the socket takes at once and drops it from `buffers`. would_block when some is left.
  ErrorCode WriteNow(std::vector<boost::asio::const_buffer>& buffers);
  // Writes the rest. WriteNow spares it, and its coroutine, to nearly all requests.
  boost::asio::awaitable<ErrorCode> Write(std::vector<boost::asio::const_buffer> buffers, Duration timeout);
  // Who waits for input. It is told once per wait: what came of it, or that the loop ends and nothing will.
  class Waiter {
   public:
    virtual void OnInput(const ErrorCode& waited) = 0;
    virtual void OnLoopEnd() = 0;

   protected:
    ~Waiter() = default;
  };
  // Once there may be bytes to take, or at the deadline, `waiter` is told; it must live until then. One wait at a time.
  void AwaitInput(Duration timeout, Waiter& waiter);
  // After that wait: appends what there is to the input. Invalidates views into consumed input. would_block: nothing
  // yet; timed_out leaves the connection usable; no_buffer_space when the input is at its limit.
  ErrorCode TakeInput(const ErrorCode& waited);
  // There is more that needs no wait.
  bool has_more() const { return more_; }
  // Ends a wait with operation_aborted.
  void CancelWait();

  // Before the connection is put aside: watches for what makes it useless.
  void BeginIdle();

  // Unconsumed input. May lie in the thread's buffer: parse it before the coroutine is suspended.
  char* input() const { return const_cast<char*>(input_.data()); }
  size_t input_size() const { return input_.size(); }
  // The consumed bytes stay in place until the coroutine is suspended; the rest is kept.
  void Consume(size_t count);

  // Of an idle connection: true as far as the peer is known neither to have closed nor to have sent anything unasked.
  // No system call in the clear.
  bool Quiet();
  // True when bytes wait to be read, in the buffer or in the socket.
  bool HasInput();
  void Close();

 private:
  using Socket = boost::asio::ip::tcp::socket::rebind_executor<boost::asio::io_context::executor_type>::other;
  using Timer = boost::asio::steady_timer::rebind_executor<boost::asio::io_context::executor_type>::other;
  using Clock = std::chrono::steady_clock;

  class Wait;

  void BeginWait();
  void OnWaited(const ErrorCode& error);
  bool SocketIsEmpty();
  void Arm(Duration timeout);
  void Disarm() { deadline_ = Clock::time_point::max(); }
  void StartTimer();
  void OnTimer(const ErrorCode& error);
  ErrorCode ReadInput();
  ErrorCode Outcome(const ErrorCode& error);  // operation_aborted by our deadline is timed_out.
  boost::asio::awaitable<ErrorCode> AwaitTls();

  Socket socket_;
  std::unique_ptr<TlsSession> tls_;  // Null: in the clear.
  Timer timer_;
  std::shared_ptr<size_t> open_;
  Clock::time_point deadline_ = Clock::time_point::max();
  Clock::time_point armed_for_;
  bool waiting_ = false;
  bool expired_ = false;
  bool more_ = false;     // There may be input that no wait would tell.
  bool pending_ = false;  // A wait goes on.
  Waiter* waiter_ = nullptr;
  std::string carry_;        // Input that an earlier read left over, or was appended to.
  absl::string_view input_;  // Unconsumed; in carry_ or in the thread's buffer.
  bool in_carry_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_TRANSPORT_CONNECTION_H_
