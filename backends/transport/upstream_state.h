// The inside of upstream.h: a pool of connections to one engine, and one exchange over one connection.
//
// Only the sources of upstream.h include it: the pool, the sending of a request, and the exchange. All objects live on
// the loop of the pool.
#ifndef PENSTOCK_BACKENDS_TRANSPORT_UPSTREAM_STATE_H_
#define PENSTOCK_BACKENDS_TRANSPORT_UPSTREAM_STATE_H_

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/socket/suspended.h"
#include "backends/transport/connection.h"
#include "backends/transport/endpoint_resolver.h"
#include "backends/transport/response_parser.h"
#include "backends/transport/upstream.h"

namespace penstock {

// The rest of one time limit that several operations share.
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

// True when Penstock ended the operation: by a deadline, by Abort(), or with the coroutine.
bool Ours(const boost::system::error_code& error);
absl::Status LostStatus(absl::string_view operation, const boost::system::error_code& error);

// The state that a pool and its exchanges share. It lives until the pool and its last exchange end.
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
  // The most recently used connection that is still good. Drops bad connections on the way.
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
  // The request and its progress.
  struct Outgoing {
    std::string head;
    std::vector<absl::string_view> body;
    std::vector<boost::asio::const_buffer> unwritten;
    boost::system::error_code error;  // The result of SendNow().
    bool written = false;
    bool switches = false;  // It asks for another protocol.
    int writes = 0;         // Connections that took all of it.
    int begun = 0;          // Connections that took a part of it or all.
  };
  // Called after each parse. False ends the reading.
  using Step = absl::FunctionRef<bool()>;
  // The readings since the last wait. They end with the turn of the connection, whoever asks for them.
  struct Turn {
    bool begun = false;          // There was a reading. Few find more input, so the first ones read no clock.
    std::optional<Instant> end;  // Known from the second reading on.
  };
  // The order of a suspended reader.
  struct Reading {
    Duration timeout;
    Step step;
    TimeLeft left;       // Anew with each piece of a body.
    bool piece = false;  // One came since then.
  };

  explicit State(std::shared_ptr<UpstreamPool::Shared> shared) : pool(std::move(shared)) { NewParser(); }
  ~State();

  void NewParser() {
    parser.emplace(static_cast<uint32_t>(Connection::kHeadLimit));
    if (no_body) parser->skip(true);
  }
  // Writes as many bytes as the socket takes at once. would_block: the rest is in `outgoing.unwritten`.
  boost::system::error_code WriteNow();
  // Reads beside the writing. interrupted: the engine answers, and the rest stays unwritten.
  boost::asio::awaitable<boost::system::error_code> WriteRest(Duration timeout);
  // Reads while the request is written. True: the head of the answer is complete, or nothing good can come.
  bool AnsweredEarly();
  // The writing ended with `error`, but there are bytes of an answer.
  bool Answers(const boost::system::error_code& error) const;
  boost::asio::awaitable<absl::Status> SendFresh(Duration timeout);
  // Parses the input. Input that is not HTTP sets `broken`; the bytes before it stay readable.
  void Parse();
  // Skips interim answers. True when the final head is complete.
  absl::StatusOr<bool> HeadReady();
  // The next step of a reader of the head, which clears `read_error` before the first one. An error: it will not come.
  enum class HeadStep : uint8_t { kDone, kRead, kSendAnew };
  absl::StatusOr<HeadStep> NextOfHead();
  UpstreamHead TakeHead();
  // The engine closed an idle connection with 408 while the request travelled. It did not read the request.
  bool IdledOut() { return reused && parser->head().status == 408; }
  // True when the engine closed a reused connection before the request reached it.
  bool WasStale(const boost::system::error_code& error) const { return reused && !any_byte && !Ours(error); }
  absl::Status AfterEnd(const boost::system::error_code& error);

  // Reads and parses without a wait, until the turn is over. True when `step` or an error (in `read_error`) has ended
  // the reading. Otherwise the caller awaits ReadOn() once.
  bool ReadReady(Step step);
  bool TurnIsOver();
  // Suspends the caller until `step` or an error ends the reading. A callback takes all input, without a coroutine.
  boost::asio::awaitable<void> ReadOn(Duration timeout, Step step);
  bool TakeInput(const boost::system::error_code& waited, Step step);
  void OnInput(const boost::system::error_code& waited) override;
  // Destroys the suspended coroutine, and this object with it.
  void OnLoopEnd() override { reader.Destroy(); }
  // Gives the parsed body to `take`. True at the end of the body, false when `take` returned false, null to read on.
  std::optional<absl::StatusOr<bool>> GiveBody(UpstreamExchange::Take take);

  std::shared_ptr<UpstreamPool::Shared> pool;
  std::shared_ptr<Connection> connection;
  Outgoing outgoing;
  std::optional<ResponseParser> parser;
  absl::Status broken;
  boost::system::error_code read_error;
  std::exception_ptr surprise;  // The exception of a step.
  Suspended reader;
  Turn turn;
  std::optional<Reading> reading;
  bool no_body = false;  // The answer to a HEAD request.
  bool reused = false;   // The connection has served another request, so the engine may have closed it.
  bool any_byte = false;
  bool aborted = false;
  int interim = 0;  // Answers before the final one.
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_TRANSPORT_UPSTREAM_STATE_H_
