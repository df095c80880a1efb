#include "backends/kv_events/socket/event_line.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>
#include <zmq_addon.hpp>

#include "absl/strings/str_cat.h"
#include "backends/kv_events/event_batch.h"

namespace penstock {
namespace {

// A publisher that says nothing for so long is asked by the system whether it is there, and so often.
constexpr int kKeepAliveSeconds = 2;
constexpr int kKeepAliveTries = 3;

void SetUp(zmq::socket_t& socket, int most_queued) {
  socket.set(zmq::sockopt::linger, 0);
  socket.set(zmq::sockopt::rcvhwm, most_queued);
  socket.set(zmq::sockopt::rcvbuf, EndlessMessage::kSystemBuffer);
  socket.set(zmq::sockopt::maxmsgsize, static_cast<int64_t>(kMostBatchBytes));
  socket.set(zmq::sockopt::ipv6, 1);
  // A publisher whose machine is gone. Rejected: the library's heartbeats. They end a connection whose queue is full,
  // and its next one then fails an assertion of the library (libzmq issue 3937).
  socket.set(zmq::sockopt::tcp_keepalive, 1);
  socket.set(zmq::sockopt::tcp_keepalive_idle, kKeepAliveSeconds);
  socket.set(zmq::sockopt::tcp_keepalive_intvl, kKeepAliveSeconds);
  socket.set(zmq::sockopt::tcp_keepalive_cnt, kKeepAliveTries);
  // Never by the library: a queue that outlives its connection fails the same assertion.
  socket.set(zmq::sockopt::reconnect_ivl, -1);
}

// Descriptors that must be free before a socket is made. For lack of one, the library ends the process in its own
// threads (its src/epoll.cpp), or fails in others.
constexpr size_t kDescriptors = 16;

bool DescriptorsAreFree() {
  std::array<int, kDescriptors> taken{};
  for (int& each : taken) each = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const bool free = std::find(taken.begin(), taken.end(), -1) == taken.end();
  for (const int each : taken) {
    if (each >= 0) ::close(each);
  }
  return free;
}

// Returns the context. Throws EMFILE where descriptors are short.
zmq::context_t* Usable(zmq::context_t& context) {
  if (DescriptorsAreFree()) return &context;
  errno = EMFILE;
  throw zmq::error_t();
}

struct Report {
  uint16_t event = 0;
  int32_t value = 0;
};

// The first frame of a report: the event and its value.
Report ReportOf(const zmq::message_t& frame) {
  Report report;
  if (frame.size() < sizeof(report.event) + sizeof(report.value)) return report;
  const char* bytes = static_cast<const char*>(frame.data());
  std::memcpy(&report.event, bytes, sizeof(report.event));
  std::memcpy(&report.value, bytes + sizeof(report.event), sizeof(report.value));
  return report;
}

}  // namespace

EventLine::EventLine(zmq::context_t& context, zmq::socket_type type, int most_queued)
    : context_(Usable(context)), type_(type), most_queued_(most_queued), socket_(context, type) {
  static int lines = 0;  // One thread opens all of them.
  SetUp(socket_, most_queued);
  const std::string changes = absl::StrCat("inproc://kv-events-", ++lines);
  const int kinds = ZMQ_EVENT_CONNECTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED;
  if (zmq_socket_monitor(socket_.handle(), changes.c_str(), kinds) != 0) throw zmq::error_t();
  changes_ = zmq::socket_t(context, zmq::socket_type::pair);
  changes_.set(zmq::sockopt::linger, 0);
  changes_.connect(changes);
}

EventLine::~EventLine() { StopReports(); }

EventLine::EventLine(EventLine&& other) noexcept = default;

EventLine& EventLine::operator=(EventLine&& other) noexcept {
  StopReports();
  context_ = other.context_;
  type_ = other.type_;
  most_queued_ = other.most_queued_;
  socket_ = std::move(other.socket_);
  changes_ = std::move(other.changes_);
  endless_ = other.endless_;
  return *this;
}

void EventLine::StopReports() {
  if (socket_.handle() != nullptr) zmq_socket_monitor(socket_.handle(), nullptr, 0);
}

void EventLine::Connect(const std::string& address) { socket_.connect(address); }

EventLine::Change EventLine::TakeChange() {
  Change change = Change::kNone;
  zmq::message_t frame;
  while (changes_.recv(frame, zmq::recv_flags::dontwait)) {
    const Report report = ReportOf(frame);
    if (report.event == ZMQ_EVENT_CONNECTED) endless_.Begin(report.value);
    if (report.event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) change = Change::kConnected;
    if (report.event == ZMQ_EVENT_DISCONNECTED) {
      endless_.End();
      change = Change::kDisconnected;
    }
    // The second frame has the address.
    while (frame.more() && changes_.recv(frame, zmq::recv_flags::dontwait)) continue;
  }
  // A message that is there to be read has its end.
  const bool waits = (socket_.get(zmq::sockopt::events) & ZMQ_POLLIN) != 0;
  if (waits || !endless_.Found()) return change;
  try {
    *this = EventLine(*context_, type_, most_queued_);
  } catch (const zmq::error_t&) {
    return change;  // Descriptors are short: the next look finds it again.
  }
  return Change::kEndless;
}

std::optional<std::vector<zmq::message_t>> EventLine::Read() {
  std::vector<zmq::message_t> frames;
  if (!zmq::recv_multipart(socket_, std::back_inserter(frames), zmq::recv_flags::dontwait)) return std::nullopt;
  endless_.OnMessage();
  return frames;
}

void EventLine::AddTo(std::vector<zmq::pollitem_t>& items) {
  items.push_back({socket_.handle(), 0, ZMQ_POLLIN, 0});
  items.push_back({changes_.handle(), 0, ZMQ_POLLIN, 0});
}

}  // namespace penstock
