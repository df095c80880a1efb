// CPU time of a bare relay of streams, by epoll and by io_uring: the floor that either leaves for a proxy.
//
//   relay_ways epoll|io_uring STREAMS EVENTS_PER_SECOND SECONDS
//
// A child process sends events of 220 bytes round robin into STREAMS loopback connections. The relay copies each to a
// connection of another child. Epoll is edge-triggered, with one read and one write per event. The ring has multishot
// receives into a ring of buffers, and sends from these buffers. One line of figures goes to standard output.
#include <fcntl.h>
#include <liburing.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kEvent = 220;
constexpr size_t kBuffers = 4096;
constexpr size_t kBufferSize = 4096;
constexpr int kBatch = 128;

struct Stream {
  int source = -1;  // The end of the child that sends.
  int in = -1;
  int out = -1;
  int sink = -1;  // The end of the child that receives.
};

struct Count {
  int64_t events = 0;
  int64_t calls = 0;  // System calls.
};

[[noreturn]] void Fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

void Connect(int& client, int& server) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* name = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  if (::bind(listener, name, size) != 0 || ::listen(listener, 1) != 0) Fail("listen");
  ::getsockname(listener, name, &size);
  client = ::socket(AF_INET, SOCK_STREAM, 0);
  if (::connect(client, name, size) != 0) Fail("connect");
  server = ::accept(listener, nullptr, nullptr);
  ::close(listener);
  const int on = 1;
  for (int socket : {client, server}) {
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ::fcntl(socket, F_SETFL, O_NONBLOCK);
  }
}

[[noreturn]] void Send(const std::vector<Stream>& streams, double rate) {
  const std::string event(kEvent, 'x');
  const auto begin = Clock::now();
  for (int64_t sent = 0;;) {
    const auto due = static_cast<int64_t>(std::chrono::duration<double>(Clock::now() - begin).count() * rate);
    for (; sent < due; ++sent) {
      if (::write(streams[static_cast<size_t>(sent) % streams.size()].source, event.data(), kEvent) < 0) break;
    }
    ::usleep(1000);
  }
}

[[noreturn]] void Receive(const std::vector<Stream>& streams) {
  const int set = ::epoll_create1(0);
  for (const Stream& stream : streams) {
    epoll_event event{EPOLLIN, {.fd = stream.sink}};
    ::epoll_ctl(set, EPOLL_CTL_ADD, stream.sink, &event);
  }
  std::array<epoll_event, kBatch> ready;
  std::array<char, 64 << 10> bytes;
  for (;;) {
    const int count = ::epoll_wait(set, ready.data(), kBatch, -1);
    for (int i = 0; i < count; ++i) (void)!::read(ready[static_cast<size_t>(i)].data.fd, bytes.data(), bytes.size());
  }
}

Count ByEpoll(const std::vector<Stream>& streams, Clock::time_point end) {
  const int set = ::epoll_create1(0);
  for (size_t i = 0; i < streams.size(); ++i) {
    epoll_event event{EPOLLIN | EPOLLRDHUP | EPOLLET, {.u64 = i}};
    ::epoll_ctl(set, EPOLL_CTL_ADD, streams[i].in, &event);
  }
  Count total;
  std::array<epoll_event, kBatch> ready;
  std::array<char, 64 << 10> bytes;
  while (Clock::now() < end) {
    const int count = ::epoll_wait(set, ready.data(), kBatch, 50);
    ++total.calls;
    for (int i = 0; i < count; ++i) {
      const Stream& stream = streams[ready[static_cast<size_t>(i)].data.u64];
      const ssize_t got = ::recv(stream.in, bytes.data(), bytes.size(), 0);
      ++total.calls;
      if (got <= 0) continue;
      ::send(stream.out, bytes.data(), static_cast<size_t>(got), MSG_NOSIGNAL);
      ++total.calls;
      total.events += got / static_cast<ssize_t>(kEvent);
    }
  }
  return total;
}

// One ring with its ring of buffers.
class Ring {
 public:
  Ring() : memory_(kBuffers * kBufferSize) {
    io_uring_params parameters{};
    parameters.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_CQSIZE;
    parameters.cq_entries = 16'384;
    if (io_uring_queue_init_params(4096, &ring_, &parameters) != 0) Fail("io_uring");
    const size_t size = kBuffers * sizeof(io_uring_buf);
    buffers_ = static_cast<io_uring_buf_ring*>(std::aligned_alloc(4096, size));
    std::memset(buffers_, 0, size);
    io_uring_buf_reg registration{};
    registration.ring_addr = reinterpret_cast<uint64_t>(buffers_);
    registration.ring_entries = kBuffers;
    if (io_uring_register_buf_ring(&ring_, &registration, 0) != 0) Fail("io_uring buffers");
    for (size_t i = 0; i < kBuffers; ++i) Add(i);
    Publish();
  }

  void Receive(int socket, uint64_t stream) {
    io_uring_sqe* entry = Entry();
    io_uring_prep_recv_multishot(entry, socket, nullptr, 0, 0);
    entry->flags |= IOSQE_BUFFER_SELECT;
    entry->buf_group = 0;
    io_uring_sqe_set_data64(entry, stream);
  }
  void Send(int socket, size_t buffer, size_t size) {
    io_uring_sqe* entry = Entry();
    io_uring_prep_send(entry, socket, memory_.data() + buffer * kBufferSize, size, MSG_NOSIGNAL);
    io_uring_sqe_set_data64(entry, kSent | buffer);
  }
  // Gives a buffer back to the kernel, at Publish().
  void Add(size_t buffer) {
    io_uring_buf_ring_add(buffers_, memory_.data() + buffer * kBufferSize, kBufferSize, static_cast<uint16_t>(buffer),
                          io_uring_buf_ring_mask(kBuffers), added_++);
  }
  void Publish() {
    io_uring_buf_ring_advance(buffers_, added_);
    added_ = 0;
  }
  io_uring* get() { return &ring_; }
  int64_t calls() const { return calls_; }
  void OnCall() { ++calls_; }

  static constexpr uint64_t kSent = uint64_t{1} << 63;

 private:
  io_uring_sqe* Entry() {
    io_uring_sqe* entry = io_uring_get_sqe(&ring_);
    if (entry != nullptr) return entry;
    io_uring_submit(&ring_);
    ++calls_;
    return io_uring_get_sqe(&ring_);
  }

  io_uring ring_{};
  io_uring_buf_ring* buffers_ = nullptr;
  std::vector<char> memory_;
  int added_ = 0;
  int64_t calls_ = 0;
};

Count ByRing(const std::vector<Stream>& streams, Clock::time_point end) {
  Ring ring;
  for (size_t i = 0; i < streams.size(); ++i) ring.Receive(streams[i].in, i);
  Count total;
  while (Clock::now() < end) {
    __kernel_timespec limit{0, 50'000'000};
    io_uring_cqe* done = nullptr;
    io_uring_submit_and_wait_timeout(ring.get(), &done, 1, &limit, nullptr);
    ring.OnCall();
    unsigned head = 0;
    unsigned count = 0;
    io_uring_for_each_cqe(ring.get(), head, done) {
      ++count;
      if ((done->user_data & Ring::kSent) != 0) {
        ring.Add(done->user_data & ~Ring::kSent);
        continue;
      }
      const Stream& stream = streams[done->user_data];
      if (done->res > 0) {
        ring.Send(stream.out, done->flags >> IORING_CQE_BUFFER_SHIFT, static_cast<size_t>(done->res));
        total.events += done->res / static_cast<int>(kEvent);
      }
      if ((done->flags & IORING_CQE_F_MORE) == 0) ring.Receive(stream.in, done->user_data);
    }
    ring.Publish();
    io_uring_cq_advance(ring.get(), count);
  }
  total.calls = ring.calls();
  return total;
}

double Microseconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
}

// CPU microseconds of this process so far: user, system.
std::array<double, 2> Used() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return {Microseconds(used.ru_utime), Microseconds(used.ru_stime)};
}

}  // namespace

int main(int count, char** words) {
  if (count != 5) {
    std::fprintf(stderr, "usage: relay_ways epoll|io_uring STREAMS EVENTS_PER_SECOND SECONDS\n");
    return 2;
  }
  const std::string_view way = words[1];
  std::vector<Stream> streams(static_cast<size_t>(std::atoi(words[2])));
  for (Stream& stream : streams) {
    Connect(stream.source, stream.in);
    Connect(stream.out, stream.sink);
  }
  for (int child = 0; child < 2; ++child) {
    if (::fork() != 0) continue;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    child == 0 ? Send(streams, std::atof(words[3])) : Receive(streams);
  }
  const auto end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::atof(words[4])));
  const std::array<double, 2> before = Used();
  const Count total = way == "epoll" ? ByEpoll(streams, end) : ByRing(streams, end);
  const std::array<double, 2> after = Used();
  const auto events = static_cast<double>(total.events);
  std::printf("%s: %lld events, %.2f calls per event, CPU us per event: user %.2f, system %.2f\n", words[1],
              static_cast<long long>(total.events), static_cast<double>(total.calls) / events,
              (after[0] - before[0]) / events, (after[1] - before[1]) / events);
  return 0;
}
