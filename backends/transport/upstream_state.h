// What lies behind backends/upstream.h: a pool of connections to one engine, and one exchange over one of them.
//
// For upstream_pool.cc and upstream_exchange.cc only. Everything lives on the pool's loop.
#ifndef PENSTOCK_BACKENDS_TRANSPORT_UPSTREAM_STATE_H_
#define PENSTOCK_BACKENDS_TRANSPORT_UPSTREAM_STATE_H_

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/transport/connection.h"
#include "backends/transport/endpoint_resolver.h"
#include "backends/transport/response_parser.h"
#include "backends/transport/upstream.h"

namespace penstock {

// The time left of one limit that several operations share.
class TimeLeft {
 public:
  explicit TimeLeft(Duration timeout)
      : infinite_(timeout >= Duration::Infinite()), start_(std::chrono::steady_clock::now()), all_(timeout) {}
  Duration value() const {
    if (infinite_) return Duration::Infinite();
    const auto spent = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start_);
    return std::max(Duration(), all_ - Duration::Nanoseconds(spent.count()));
  }

 private:
  bool infinite_;
  std::chrono::steady_clock::time_point start_;
  Duration all_;
};

// Ended by us: by a deadline, by Abort, or with the coroutine that waited.
bool Ours(const boost::system::error_code& error);
absl::Status LostStatus(absl::string_view what, const boost::system::error_code& error);

// What a pool and its exchanges share; outlives the pool until the last exchange ends.
struct UpstreamPool::Shared : std::enable_shared_from_this<UpstreamPool::Shared> {
  struct Idle {
    std::shared_ptr<Connection> connection;
    std::chrono::steady_clock::time_point since;
  };

  Shared(boost::asio::io_context& io, UpstreamAddress where, Options how)
      : loop(io),
        address(std::move(where)),
        options(std::move(how)),
        resolver(io, address.host, address.port),
        timer(io) {}

  std::chrono::steady_clock::duration idle_limit() const {
    return std::chrono::nanoseconds(options.idle_limit.nanoseconds());
  }
  // The most recently used connection that is still good; drops the others it meets.
  std::shared_ptr<Connection> TakeIdle();
  void PutIdle(std::shared_ptr<Connection> connection);
  void ArmTimer();
  void CloseExpired();
  boost::asio::awaitable<absl::StatusOr<std::shared_ptr<Connection>>> Connect(Duration timeout);

  boost::asio::io_context& loop;
  UpstreamAddress address;
  Options options;
  EndpointResolver resolver;
  boost::asio::steady_timer timer;
  bool timer_waiting = false;
  bool closed = false;
  std::deque<Idle> idle;  // Oldest first.
  std::shared_ptr<size_t> open = std::make_shared<size_t>(0);
};

// One exchange, from its request to the end of its answer.
struct UpstreamExchange::State final : Connection::Waiter {
  struct Suspend;

  explicit State(std::shared_ptr<UpstreamPool::Shared> shared) : pool(std::move(shared)) { NewParser(); }
  ~State();

  void NewParser() {
    parser.emplace(static_cast<uint32_t>(Connection::kHeadLimit));
    if (no_body) parser->skip(true);
  }
  // What the socket takes at once; would_block leaves the rest in `unwritten`.
  boost::system::error_code WriteNow();
  boost::asio::awaitable<boost::system::error_code> WriteRest(Duration timeout);
  boost::asio::awaitable<absl::Status> SendFresh(Duration timeout);
  // Parses the input at hand. What is not HTTP sets `broken`; what was good before it can still be read.
  void Parse();
  // Skips an interim answer. True when the head of the real answer is there.
  absl::StatusOr<bool> HeadReady();
  // A kept connection that the engine had closed before our request reached it.
  bool WasStale(const boost::system::error_code& error) const { return reused && !any_byte && !Ours(error); }
  absl::Status AfterEnd(const boost::system::error_code& error);

  // Asked after each input was parsed: false ends the reading.
  using Step = absl::FunctionRef<bool()>;
  // Reads and parses what needs no wait until `step` says so, or an error, which is left in `read_error`. True: reading
  // has ended. Else the caller suspends itself once (Suspend), however much then comes: it is taken by a callback that
  // costs no coroutine.
  bool ReadReady(Step step);
  bool TakeInput(const boost::system::error_code& waited, Step step);
  void OnInput(const boost::system::error_code& waited) override;
  // The suspended coroutine goes, and this with it.
  void OnLoopEnd() override { const absl::AnyInvocable<void()> gone = std::move(resume); }
  // Gives the body at hand to `take`. A result: true at the end of the body, false when `take` wants no more now.
  std::optional<absl::StatusOr<bool>> GiveBody(UpstreamExchange::Take take);

  std::shared_ptr<UpstreamPool::Shared> pool;
  std::shared_ptr<Connection> connection;
  std::string request_head;
  std::vector<absl::string_view> request_body;
  std::vector<boost::asio::const_buffer> unwritten;
  std::optional<ResponseParser> parser;
  absl::Status broken;
  boost::system::error_code write_error;  // Of SendNow.
  boost::system::error_code read_error;
  std::exception_ptr surprise;  // Thrown by a step.
  // Of a suspended reader.
  const Suspend* suspend = nullptr;
  boost::asio::cancellation_slot slot;
  absl::AnyInvocable<void()> resume;
  bool no_body = false;  // The answer to HEAD.
  bool reused = false;   // The connection had served before: it may turn out dead, once.
  bool any_byte = false;
  bool written = false;
  bool aborted = false;
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_TRANSPORT_UPSTREAM_STATE_H_
