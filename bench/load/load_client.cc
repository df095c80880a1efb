#include "bench/load/load_client.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "bench/load/load_stream.h"
#include "bench/load/prompt_writer.h"

namespace penstock::bench {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
constexpr auto kIdleLimit = std::chrono::seconds(4);
constexpr size_t kReadBytes = 4096;
constexpr auto kWatchEvery = std::chrono::milliseconds(200);

std::chrono::nanoseconds Nanoseconds(Duration duration) { return std::chrono::nanoseconds(duration.nanoseconds()); }

struct IdleConnection {
  tcp::socket socket;
  Clock::time_point since;
};

// A target with its addresses and its idle connections, most recently used last.
struct Endpoint {
  LoadTarget target;
  std::vector<tcp::endpoint> addresses;
  std::vector<IdleConnection> idle;
};

// A bearer key is one word of visible ASCII.
std::string KeyOf(const std::string& tenant) {
  std::string key = tenant;
  for (char& c : key) {
    if (!absl::ascii_isgraph(static_cast<unsigned char>(c))) c = '_';
  }
  return key;
}

class LoadRun {
 public:
  LoadRun(const Trace& trace, const LoadClientOptions& options)
      : over_(loop_), trace_(trace), options_(options), writer_(options.seed), records_(trace.requests.size()) {}

  absl::Status Resolve();
  void Run();
  std::vector<RequestRecord> TakeRecords() { return std::move(records_); }

 private:
  struct Reply {
    BodySink sink;
    SinkParser parser;
    beast::flat_buffer buffer;
    std::string broken;  // Why the connection ended early.
    bool any_byte = false;
    Reply() {
      parser.get().body() = &sink;
      parser.body_limit(boost::none);
      parser.eager(true);
    }
  };

  asio::awaitable<void> SendAll();
  asio::awaitable<void> Watch();
  asio::awaitable<void> Serve(size_t index);
  asio::awaitable<void> Exchange(Endpoint& endpoint, const std::string& request, RequestRecord& record,
                                 std::unique_ptr<Reply>& reply);
  asio::awaitable<error_code> Connect(const Endpoint& endpoint, tcp::socket& socket);
  asio::awaitable<void> ReadReply(tcp::socket& socket, Reply& reply, RequestRecord& record);
  bool ParseAvailable(Reply& reply, RequestRecord& record);

  std::string RequestText(size_t index, const LoadTarget& target, int64_t& words) const;
  const std::string& ModelOf(const TraceRequest& request) const;
  std::optional<tcp::socket> TakeIdle(Endpoint& endpoint);
  void Settle(RequestRecord& record);
  Duration Now() const { return Duration::Nanoseconds((Clock::now() - start_).count()); }

  asio::io_context loop_{1};  // Before all sockets and timers.
  asio::steady_timer over_;   // Ends the run.
  const Trace& trace_;
  const LoadClientOptions& options_;
  PromptWriter writer_;
  std::vector<RequestRecord> records_;
  std::vector<Endpoint> endpoints_;
  LoadProgress progress_;
  bool all_sent_ = false;
  Clock::time_point start_;
};

absl::Status LoadRun::Resolve() {
  tcp::resolver resolver(loop_);
  for (const LoadTarget& target : options_.targets) {
    error_code error;
    const auto results = resolver.resolve(target.host, target.port, error);
    if (error) return absl::UnavailableError(absl::StrCat(target.url, ": ", error.message()));
    Endpoint endpoint{target, {}, {}};
    for (const auto& result : results) endpoint.addresses.push_back(result.endpoint());
    endpoints_.push_back(std::move(endpoint));
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
    if (options_.stop != nullptr && *options_.stop) over_.cancel();
    progress_.elapsed = Now();
    if (options_.progress) options_.progress(progress_);
  }
}

const std::string& LoadRun::ModelOf(const TraceRequest& request) const {
  if (!options_.model.empty()) return options_.model;
  const auto found = options_.models.find(request.model);
  return found == options_.models.end() ? request.model : found->second;
}

std::string LoadRun::RequestText(size_t index, const LoadTarget& target, int64_t& words) const {
  const TraceRequest& request = trace_.requests[index];
  PromptWriter::Prompt prompt = writer_.Write(request, index);
  words = prompt.words;
  const std::string model =
      nlohmann::json(ModelOf(request)).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  const std::string body = absl::StrCat(R"({"model":)", model, R"(,"messages":[{"role":"user","content":")",
                                        prompt.text, R"("}],"stream":true,"stream_options":{"include_usage":true}})");
  std::string text = absl::StrCat("POST ", target.api, "/chat/completions HTTP/1.1\r\nHost: ", target.Authority(),
                                  "\r\nContent-Type: application/json\r\nAccept: text/event-stream\r\n",
                                  "x-simulated-output-tokens: ", request.output.value(), "\r\n");
  if (!request.tenant.empty()) absl::StrAppend(&text, "Authorization: Bearer ", KeyOf(request.tenant), "\r\n");
  if (!options_.service_class.empty()) absl::StrAppend(&text, "x-penstock-class: ", options_.service_class, "\r\n");
  if (!options_.name_replicas) absl::StrAppend(&text, "x-penstock-receipt: 1\r\n");
  absl::StrAppend(&text, "Content-Length: ", body.size(), "\r\n\r\n", body);
  return text;
}

asio::awaitable<void> LoadRun::Serve(size_t index) {
  const TraceRequest& request = trace_.requests[index];
  Endpoint& endpoint = endpoints_[index % endpoints_.size()];
  RequestRecord& record = records_[index];
  record.arrival = request.arrival;
  record.model = ModelOf(request);
  record.tenant = request.tenant;
  record.prompt = request.prompt;
  record.goals = options_.goals;
  if (!options_.service_class.empty()) record.service_class = options_.service_class;
  if (options_.name_replicas) record.replica = endpoint.target.url;
  record.tokens = TokenTally(record.arrival, options_.goals, trace_.length);
  ++progress_.sent;
  ++progress_.running;
  int64_t words = 0;
  const std::string text = RequestText(index, endpoint.target, words);
  std::unique_ptr<Reply> reply;
  co_await Exchange(endpoint, text, record, reply);
  record.end = Now();
  Judge(reply->parser, reply->sink, reply->broken, record);
  if (const auto prompt = reply->sink.counter().prompt_tokens()) writer_.Learn(words, Tokens(*prompt));
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

// A kept connection may have been closed by the other side while it rested: then the request goes out once more, on a
// fresh one.
asio::awaitable<void> LoadRun::Exchange(Endpoint& endpoint, const std::string& request, RequestRecord& record,
                                        std::unique_ptr<Reply>& reply) {
  while (true) {
    reply = std::make_unique<Reply>();
    std::optional<tcp::socket> kept = TakeIdle(endpoint);
    const bool fresh = !kept;
    tcp::socket socket = kept ? std::move(*kept) : tcp::socket(loop_);
    error_code error;
    if (fresh) error = co_await Connect(endpoint, socket);
    if (!error) error = std::get<0>(co_await asio::async_write(socket, asio::buffer(request), kAwait));
    if (!error) {
      co_await ReadReply(socket, *reply, record);
    } else {
      reply->broken = error.message();
    }
    if (!fresh && !reply->any_byte) continue;
    const bool reusable = reply->parser.is_done() && reply->parser.keep_alive() && reply->buffer.size() == 0;
    if (reusable) endpoint.idle.push_back({std::move(socket), Clock::now()});
    co_return;
  }
}

asio::awaitable<error_code> LoadRun::Connect(const Endpoint& endpoint, tcp::socket& socket) {
  const auto [error, address] = co_await asio::async_connect(socket, endpoint.addresses, kAwait);
  if (!error) {
    error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
  }
  co_return error;
}

asio::awaitable<void> LoadRun::ReadReply(tcp::socket& socket, Reply& reply, RequestRecord& record) {
  while (!reply.parser.is_done()) {
    const auto [error, size] = co_await socket.async_read_some(reply.buffer.prepare(kReadBytes), kAwait);
    if (error) {
      error_code ended;
      if (error == asio::error::eof && reply.parser.got_some()) reply.parser.put_eof(ended);
      if (!reply.parser.is_done()) reply.broken = error == asio::error::eof ? "closed by the server" : error.message();
      co_return;
    }
    reply.any_byte = true;
    reply.buffer.commit(size);
    if (!ParseAvailable(reply, record)) co_return;
  }
}

bool LoadRun::ParseAvailable(Reply& reply, RequestRecord& record) {
  while (reply.buffer.size() > 0 && !reply.parser.is_done()) {
    error_code error;
    const size_t used = reply.parser.put(reply.buffer.data(), error);
    reply.buffer.consume(used);
    if (error == beast::http::error::need_more) break;
    if (error) {
      reply.broken = absl::StrCat("not HTTP: ", error.message());
      return false;
    }
    if (used == 0) break;
  }
  if (const int64_t texts = reply.sink.TakeTexts(); texts > 0) {
    record.tokens.Add(Now(), texts);
    progress_.tokens += texts;
  }
  return true;
}

std::optional<tcp::socket> LoadRun::TakeIdle(Endpoint& endpoint) {
  const auto oldest_usable = Clock::now() - kIdleLimit;
  if (endpoint.idle.empty()) return std::nullopt;
  if (endpoint.idle.back().since < oldest_usable) {
    endpoint.idle.clear();
    return std::nullopt;
  }
  std::optional<tcp::socket> socket(std::move(endpoint.idle.back().socket));
  endpoint.idle.pop_back();
  return socket;
}

std::optional<int64_t> SumPreemptions(const std::vector<LoadTarget>& targets) {
  int64_t sum = 0;
  for (const LoadTarget& target : targets) {
    const std::optional<int64_t> count = FetchPreemptions(target);
    if (!count) return std::nullopt;
    sum += *count;
  }
  return sum;
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
  if (const absl::Status status = run.Resolve(); !status.ok()) return status;
  const std::optional<int64_t> before = SumPreemptions(options.targets);
  run.Run();
  LoadOutcome outcome;
  outcome.records = run.TakeRecords();
  const std::optional<int64_t> after = SumPreemptions(options.targets);
  if (before && after) outcome.preemptions = std::max<int64_t>(0, *after - *before);
  return outcome;
}

}  // namespace penstock::bench
