#include "bench/load/load_client.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <chrono>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "bench/load/answer_parser.h"
#include "bench/load/endpoint.h"
#include "bench/load/load_request.h"
#include "bench/load/load_stream.h"

namespace penstock::bench {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
constexpr size_t kReadBytes = 4096;
constexpr auto kWatchEvery = std::chrono::milliseconds(200);

std::chrono::nanoseconds Nanoseconds(Duration duration) { return std::chrono::nanoseconds(duration.nanoseconds()); }

class LoadRun {
 public:
  LoadRun(const Trace& trace, const LoadClientOptions& options)
      : over_(loop_), trace_(trace), options_(options), requests_(options), records_(trace.requests.size()) {}

  absl::Status Resolve();
  void Run();
  std::vector<RequestRecord> TakeRecords() { return std::move(records_); }
  size_t sent() const { return static_cast<size_t>(progress_.sent); }
  Duration elapsed() const { return Now(); }
  Duration longest_stall() const { return longest_stall_; }

 private:
  struct Reply {
    BodySink sink;
    AnswerParser<SinkBody> answer{boost::none, &sink};
    beast::flat_buffer buffer;
    std::string broken;  // The reason why the connection ended early; empty: it did not.
    bool any_byte = false;
  };

  asio::awaitable<void> SendAll();
  asio::awaitable<void> Watch();
  asio::awaitable<void> Serve(size_t index);
  // False: the client went away first.
  asio::awaitable<bool> ExchangeUntilGone(Endpoint& endpoint, const std::string& text, const TraceRequest& request,
                                          RequestRecord& record, std::unique_ptr<Reply>& reply);
  asio::awaitable<void> Exchange(Endpoint& endpoint, const std::string& request, RequestRecord& record,
                                 std::unique_ptr<Reply>& reply);
  asio::awaitable<void> ReadReply(tcp::socket& socket, Reply& reply, RequestRecord& record);
  bool ParseAvailable(Reply& reply, RequestRecord& record);

  void Settle(RequestRecord& record);
  Duration Now() const { return Duration::Nanoseconds((Clock::now() - start_).count()); }

  asio::io_context loop_{1};  // Before all sockets and timers.
  asio::steady_timer over_;   // Ends the run.
  const Trace& trace_;
  const LoadClientOptions& options_;
  RequestWriter requests_;
  std::vector<RequestRecord> records_;
  std::vector<Endpoint> endpoints_;
  LoadProgress progress_;
  Duration longest_stall_;
  bool all_sent_ = false;
  Clock::time_point start_;
};

absl::Status LoadRun::Resolve() {
  for (const LoadTarget& target : options_.targets) {
    absl::StatusOr<Endpoint> endpoint = Endpoint::Resolve(target, loop_);
    if (!endpoint.ok()) return endpoint.status();
    endpoints_.push_back(*std::move(endpoint));
  }
  return absl::OkStatus();
}

void LoadRun::Run() {
  start_ = Clock::now();
  over_.expires_at(start_ + Nanoseconds(trace_.length + options_.drain));
  over_.async_wait([this](error_code) { loop_.stop(); });
  asio::co_spawn(loop_, SendAll(), asio::detached);
  asio::co_spawn(loop_, Watch(), asio::detached);
  loop_.run();
  for (RequestRecord& record : records_) {
    if (record.fate == Fate::kFailed && record.reason.empty()) {
      record.reason = kUnfinished;
      record.end = Now();
    }
  }
}

asio::awaitable<void> LoadRun::SendAll() {
  asio::steady_timer timer(loop_);
  for (size_t i = 0; i < trace_.requests.size(); ++i) {
    const auto due = start_ + Nanoseconds(trace_.requests[i].arrival);
    if (due > Clock::now()) {
      timer.expires_at(due);
      co_await timer.async_wait(kAwait);
    }
    asio::co_spawn(loop_, Serve(i), asio::detached);
  }
  all_sent_ = true;
  if (trace_.requests.empty()) over_.cancel();
}

asio::awaitable<void> LoadRun::Watch() {
  asio::steady_timer timer(loop_);
  while (true) {
    timer.expires_after(kWatchEvery);
    co_await timer.async_wait(kAwait);
    longest_stall_ = std::max(longest_stall_, Duration::Nanoseconds((Clock::now() - timer.expiry()).count()));
    if (options_.stop != nullptr && *options_.stop) over_.cancel();
    progress_.elapsed = Now();
    if (options_.progress) options_.progress(progress_);
  }
}

asio::awaitable<void> LoadRun::Serve(size_t index) {
  const TraceRequest& request = trace_.requests[index];
  Endpoint& endpoint = endpoints_[index % endpoints_.size()];
  RequestRecord& record = records_[index];
  record.arrival = request.arrival;
  record.model = requests_.ModelOf(request);
  record.tenant = request.tenant;
  record.prompt = request.prompt;
  record.goals = options_.goals;
  const std::string& service_class = requests_.ClassOf(request);
  if (!service_class.empty()) record.service_class = service_class;
  if (options_.name_replicas) record.replica = endpoint.target().url;
  record.tokens = TokenTally(record.arrival, options_.goals, trace_.length);
  ++progress_.sent;
  ++progress_.running;
  const RequestWriter::Written written = requests_.Write(request, index, endpoint.target());
  std::unique_ptr<Reply> reply;
  const bool stayed = co_await ExchangeUntilGone(endpoint, written.text, request, record, reply);
  record.end = Now();
  if (stayed) {
    Judge(reply->answer.parser(), reply->sink, reply->broken, record);
  } else {
    record.reason = kClientGone;
  }
  if (const auto prompt = reply->sink.counter().prompt_tokens()) requests_.Learn(written.words, Tokens(*prompt));
  Settle(record);
}

void LoadRun::Settle(RequestRecord& record) {
  --progress_.running;
  ++(record.fate == Fate::kFinished  ? progress_.finished
     : record.fate == Fate::kRefused ? progress_.refused
                                     : progress_.failed);
  if (options_.settled) options_.settled(record);
  if (all_sent_ && progress_.running == 0) over_.cancel();
}

asio::awaitable<bool> LoadRun::ExchangeUntilGone(Endpoint& endpoint, const std::string& text,
                                                 const TraceRequest& request, RequestRecord& record,
                                                 std::unique_ptr<Reply>& reply) {
  using asio::experimental::awaitable_operators::operator||;
  if (!request.gone_after) {
    co_await Exchange(endpoint, text, record, reply);
    co_return true;
  }
  asio::steady_timer leaves(loop_, start_ + Nanoseconds(request.arrival + *request.gone_after));
  const auto first = co_await (Exchange(endpoint, text, record, reply) || leaves.async_wait(asio::use_awaitable));
  co_return first.index() == 0;
}

// The server may have closed an idle connection. The request then goes out once more, on a fresh one.
asio::awaitable<void> LoadRun::Exchange(Endpoint& endpoint, const std::string& request, RequestRecord& record,
                                        std::unique_ptr<Reply>& reply) {
  while (true) {
    reply = std::make_unique<Reply>();
    std::optional<tcp::socket> idle = endpoint.TakeIdle();
    const bool fresh = !idle;
    tcp::socket socket = idle ? std::move(*idle) : tcp::socket(loop_);
    error_code error;
    if (fresh) error = co_await endpoint.Connect(socket);
    if (!error) error = std::get<0>(co_await asio::async_write(socket, asio::buffer(request), kAwait));
    if (!error) {
      co_await ReadReply(socket, *reply, record);
    } else {
      reply->broken = error.message();
    }
    if (!fresh && !reply->any_byte) continue;
    const bool reusable = reply->answer.is_done() && reply->answer.parser().keep_alive() && reply->buffer.size() == 0;
    if (reusable) endpoint.Keep(std::move(socket));
    co_return;
  }
}

asio::awaitable<void> LoadRun::ReadReply(tcp::socket& socket, Reply& reply, RequestRecord& record) {
  while (!reply.answer.is_done()) {
    const auto [error, size] = co_await socket.async_read_some(reply.buffer.prepare(kReadBytes), kAwait);
    if (error) {
      error_code ended;
      if (error == asio::error::eof && reply.answer.parser().got_some()) reply.answer.parser().put_eof(ended);
      if (!reply.answer.is_done()) reply.broken = error == asio::error::eof ? "closed by the server" : error.message();
      co_return;
    }
    reply.any_byte = true;
    reply.buffer.commit(size);
    if (!ParseAvailable(reply, record)) co_return;
  }
}

bool LoadRun::ParseAvailable(Reply& reply, RequestRecord& record) {
  if (const absl::Status fed = reply.answer.Feed(reply.buffer); !fed.ok()) {
    reply.broken = absl::StrCat("not HTTP: ", fed.message());
    return false;
  }
  if (const int64_t texts = reply.sink.TakeTexts(); texts > 0) {
    record.tokens.Add(Now(), texts);
    progress_.tokens += texts;
  }
  return true;
}

bool NeedsModel(const Trace& trace, const LoadClientOptions& options) {
  return options.model.empty() && !options.models.contains("") &&
         std::any_of(trace.requests.begin(), trace.requests.end(),
                     [](const TraceRequest& request) { return request.model.empty(); });
}

}  // namespace

absl::StatusOr<LoadOutcome> RunLoadClient(const Trace& trace, const LoadClientOptions& given) {
  LoadClientOptions options = given;
  if (NeedsModel(trace, options)) {
    const absl::StatusOr<std::string> model = FetchFirstModel(options.targets.front());
    if (!model.ok()) return model.status();
    options.models[""] = *model;
  }
  LoadRun run(trace, options);
  if (absl::Status status = run.Resolve(); !status.ok()) return status;
  const std::optional<int64_t> before = SumPreemptions(options.targets);
  run.Run();
  LoadOutcome outcome;
  outcome.sent = run.sent();
  outcome.elapsed = run.elapsed();
  outcome.longest_stall = run.longest_stall();
  outcome.records = run.TakeRecords();
  const std::optional<int64_t> after = SumPreemptions(options.targets);
  if (before && after) outcome.preemptions = std::max<int64_t>(0, *after - *before);
  return outcome;
}

}  // namespace penstock::bench
