// One TCP connection towards an engine with its input buffer and its deadline.
//
// Owned by an exchange or by the idle list of a pool, and used on that pool's loop only. One operation at a time.
// Deadlines: each operation stores a point in time; the one timer is armed only when none is pending or when the new
// point is earlier than the pending one, and re-armed when it fires early. A stream that reads every few milliseconds
// under a timeout of a minute therefore costs one clock read per operation and one timer per minute.
// Input: a contiguous buffer that starts at 16 KiB, is kept across exchanges, and grows to kInputLimit only for huge
// response heads.
#ifndef PENSTOCK_BACKENDS_POOL_CONNECTION_H_
#define PENSTOCK_BACKENDS_POOL_CONNECTION_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <vector>

#include "kvmodel/units.h"

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
  boost::asio::awaitable<ErrorCode> Write(std::vector<boost::asio::const_buffer> buffers, Duration timeout);
  // Appends what arrives to the input. Invalidates views into consumed input. timed_out leaves the connection usable;
  // no_buffer_space when the input is at its limit.
  boost::asio::awaitable<ErrorCode> ReadMore(Duration timeout);

  // Unconsumed input.
  const char* input() const { return input_.data() + begin_; }
  size_t input_size() const { return end_ - begin_; }
  // The bytes stay in place until the next ReadMore.
  void Consume(size_t count) { begin_ += count; }

  // True when the peer neither closed nor sent anything unasked. One system call.
  bool Quiet();
  // True when bytes wait to be read, in the buffer or in the socket.
  bool HasInput();
  void Close();

 private:
  using Socket = boost::asio::ip::tcp::socket::rebind_executor<boost::asio::io_context::executor_type>::other;
  using Timer = boost::asio::steady_timer::rebind_executor<boost::asio::io_context::executor_type>::other;
  using Clock = std::chrono::steady_clock;

  void Arm(Duration timeout);
  void Disarm() { deadline_ = Clock::time_point::max(); }
  void StartTimer();
  void OnTimer(const ErrorCode& error);
  ErrorCode Outcome(const ErrorCode& error);  // operation_aborted by our deadline is timed_out.
  bool MakeRoom();

  Socket socket_;
  Timer timer_;
  std::shared_ptr<size_t> open_;
  Clock::time_point deadline_ = Clock::time_point::max();
  Clock::time_point armed_for_;
  bool waiting_ = false;
  bool expired_ = false;
  std::vector<char> input_;
  size_t begin_ = 0;
  size_t end_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_POOL_CONNECTION_H_
