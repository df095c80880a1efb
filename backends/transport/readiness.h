// Waiting for input and reading it with one system call per read.
//
// Asio registers a socket once with epoll, edge-triggered, but its async_wait arms it anew each time, one epoll_ctl per
// wait. AsyncWaitEdge does without: it completes once an event came after the previous wait completed. Who uses it must
// read until ReadNow says that nothing is left (`more` false, or would_block) before it waits again. TCP_INQ makes the
// kernel tell that with each read, an end of the stream included, so no read is spent to find out.
// For plain TCP sockets of one loop; mixing with async_wait is allowed, it costs a spurious completion at most.
#ifndef PENSTOCK_BACKENDS_TRANSPORT_READINESS_H_
#define PENSTOCK_BACKENDS_TRANSPORT_READINESS_H_

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <utility>

#if !defined(BOOST_ASIO_HAS_EPOLL) || defined(BOOST_ASIO_HAS_IO_URING_AS_DEFAULT)
#error "made for Asio's epoll reactor: another one would read into NoInput"
#endif

namespace penstock {

// A buffer that nothing is read into: a read of this type is a wait.
class NoInput {
 public:
  using value_type = boost::asio::mutable_buffer;
  using const_iterator = const value_type*;
  const_iterator begin() const { return &kPlace; }
  const_iterator end() const { return begin() + 1; }

 private:
  static inline char byte = 0;  // Asio completes reads of no bytes at once.
  static inline const value_type kPlace{&byte, 1};
};

// Makes the kernel tell with each read whether more is there. Once per socket; without it ReadNow always says `more`.
void TellLeftInput(int socket);

// Reads the bytes of the socket that fit into `into`. One system call, never waits. `more` is true when bytes are left,
// at the end, and when the kernel does not report. Errors: would_block, eof, what the socket says.
size_t ReadNow(int socket, boost::asio::mutable_buffer into, bool& more, boost::system::error_code& error);

// Calls handler(error, 0) once there may be input that ReadNow has not seen. The first wait of a socket completes at
// once. Ends with operation_aborted when the socket is cancelled or closed.
template <class Socket, class Handler>
void AsyncWaitEdge(Socket& socket, Handler&& handler) {
  socket.async_read_some(NoInput(), std::forward<Handler>(handler));
}

}  // namespace penstock

// The reactor has asked for the operation's turn: there was an event. The result says that the input is exhausted, so
// that it queues the next wait until the next event instead of trying at once.
template <>
inline boost::asio::detail::reactor_op::status
boost::asio::detail::reactive_socket_recv_op_base<penstock::NoInput>::do_perform(reactor_op* base) {
  base->ec_ = boost::system::error_code();
  base->bytes_transferred_ = 0;
  return done_and_exhausted;
}

#endif  // PENSTOCK_BACKENDS_TRANSPORT_READINESS_H_
