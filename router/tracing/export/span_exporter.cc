#include "router/tracing/export/span_exporter.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <exception>
#include <iterator>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "backends/transport/upstream.h"
#include "base/clock.h"
#include "router/openai/error/http_status.h"
#include "router/tracing/export_rules.h"
#include "router/tracing/trace_ids.h"
#include "router/tracing/trace_size.h"

namespace penstock {
namespace asio = boost::asio;

namespace {

constexpr absl::string_view kPath = "/v1/traces";
constexpr size_t kLongestAnswer = 64 << 10;

int64_t WallLead() {
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(wall).count() - Now().nanoseconds();
}

size_t SpansOf(const std::vector<TimedTrace>& batch) {
  size_t spans = 0;
  for (const TimedTrace& timed : batch) spans += timed.trace.spans.size();
  return spans;
}

// The transport writes these itself.
bool IsFraming(absl::string_view name) {
  for (absl::string_view own : {"host", "connection", "content-length", "transfer-encoding", "content-type"}) {
    if (absl::EqualsIgnoreCase(name, own)) return true;
  }
  return false;
}

// From 0 to 1.
double Draw() { return static_cast<double>(NewSpanId().value >> 11) / 9007199254740992.0; }

// The collector's answer to one request.
struct Answer {
  int status = 0;  // 0: none came.
  std::string retry_after;
  std::string body;
  std::string trouble;  // The reason for a status of 0.
};

}  // namespace

struct SpanExporter::State {
  State(Options the_options, UpstreamAddress address, UpstreamPool::Options pool_options)
      : options(std::move(the_options)),
        timer(io),
        next_try(io),
        pool(io, std::move(address), std::move(pool_options)) {}

  asio::awaitable<void> Run();
  static asio::awaitable<void> Pause(asio::steady_timer& pause, Duration longest);
  // Deliver, whatever it meets.
  asio::awaitable<void> Send(std::vector<TimedTrace> batch);
  asio::awaitable<void> Deliver(std::vector<TimedTrace> batch);
  asio::awaitable<Answer> Post(const std::string& body);
  std::vector<TimedTrace> Take();
  bool HasBatch();
  void Settle(const Answer& answer, size_t spans);
  void Count(SpanEnd end, size_t spans) const {
    if (spans > 0 && options.count) options.count(end, spans);
  }
  void Wake() {
    asio::post(io, [this] { timer.cancel(); });
  }

  const Options options;
  std::string target;
  HeaderList headers;
  asio::io_context io{1};
  asio::steady_timer timer;     // Until the next batch. A full one ends it.
  asio::steady_timer next_try;  // Until a batch is sent again.
  UpstreamPool pool;
  bool in_trouble = false;
  std::atomic<bool> stopping{false};
  std::thread thread;

  std::mutex mutex;  // Guards the fields below.
  std::vector<TimedTrace> queue;
  size_t queued_bytes = 0;
};

asio::awaitable<void> SpanExporter::State::Pause(asio::steady_timer& pause, Duration longest) {
  pause.expires_after(ToChrono(longest));
  co_await pause.async_wait(asio::as_tuple(asio::use_awaitable));
}

bool SpanExporter::State::HasBatch() {
  std::lock_guard lock(mutex);
  return queue.size() >= options.max_batch;
}

std::vector<TimedTrace> SpanExporter::State::Take() {
  std::lock_guard lock(mutex);
  const size_t count = std::min(queue.size(), options.max_batch);
  const auto end = queue.begin() + static_cast<std::ptrdiff_t>(count);
  std::vector<TimedTrace> batch(std::make_move_iterator(queue.begin()), std::make_move_iterator(end));
  queue.erase(queue.begin(), end);
  for (const TimedTrace& timed : batch) queued_bytes -= BytesOf(timed.trace);
  return batch;
}

asio::awaitable<void> SpanExporter::State::Run() {
  while (true) {
    const bool full = HasBatch();
    if (!full && !stopping) co_await Pause(timer, options.interval);
    std::vector<TimedTrace> batch = Take();
    if (batch.empty() && stopping) co_return;
    if (!batch.empty()) co_await Send(std::move(batch));
  }
}

asio::awaitable<void> SpanExporter::State::Send(std::vector<TimedTrace> batch) {
  const size_t spans = SpansOf(batch);
  try {
    co_await Deliver(std::move(batch));
  } catch (const std::exception&) {
    Count(SpanEnd::kFailed, spans);
  }
}

asio::awaitable<void> SpanExporter::State::Deliver(std::vector<TimedTrace> batch) {
  const size_t spans = SpansOf(batch);
  const std::string body = OtlpJson(options.resource, batch);
  std::vector<TimedTrace>().swap(batch);
  ExportRules rules;
  while (true) {
    const Answer answer = co_await Post(body);
    const ExportRules::Step step = rules.After(answer.status, answer.retry_after, Draw());
    if (step.kind != ExportRules::Step::Kind::kAgain || stopping) {
      Settle(answer, spans);
      co_return;
    }
    co_await Pause(next_try, step.pause);
  }
}

void SpanExporter::State::Settle(const Answer& answer, size_t spans) {
  const bool taken = http_status::IsSuccess(answer.status);
  const size_t rejected = taken ? std::min(spans, static_cast<size_t>(RejectedSpans(answer.body))) : size_t{0};
  Count(taken ? SpanEnd::kExported : SpanEnd::kFailed, spans - rejected);
  Count(SpanEnd::kRejected, rejected);
  if (in_trouble == !taken || !options.on_trouble) return;
  in_trouble = !taken;
  const std::string why = answer.status == 0 ? answer.trouble : absl::StrCat("status ", answer.status);
  options.on_trouble(taken ? "" : absl::StrCat("the trace collector ", options.endpoint, " takes no spans: ", why));
}

asio::awaitable<Answer> SpanExporter::State::Post(const std::string& body) {
  Answer answer;
  UpstreamRequest request;
  request.target = target;
  request.headers = headers;
  request.body = {body};
  const Duration timeout = stopping ? std::min(options.timeout, kLastWords) : options.timeout;
  auto exchange = co_await pool.Send(request, timeout);
  if (!exchange.ok()) {
    answer.trouble = std::string(exchange.status().message());
    co_return answer;
  }
  const auto head = co_await exchange->ReadHead(timeout);
  if (!head.ok()) {
    answer.trouble = std::string(head.status().message());
    co_return answer;
  }
  answer.status = head->status;
  answer.retry_after = std::string(FindHeader(head->headers, "retry-after"));
  auto content = co_await exchange->ReadAll(timeout, kLongestAnswer);
  if (content.ok()) answer.body = *std::move(content);
  co_return answer;
}

absl::StatusOr<std::unique_ptr<SpanExporter>> SpanExporter::Create(Options options) {
  absl::StatusOr<UpstreamAddress> address = ParseUpstreamUrl(options.endpoint);
  if (!address.ok()) return address.status();
  UpstreamPool::Options pool;
  pool.max_idle = 1;
  if (address->tls) {
    auto context = TlsContext::ForClient("", TlsIdentity());
    if (!context.ok()) return context.status();
    pool.tls = *std::move(context);
  }
  const bool whole = absl::EndsWith(address->base_path, kPath);
  const std::string target = whole ? "" : std::string(kPath);
  auto state = std::make_unique<State>(std::move(options), *std::move(address), std::move(pool));
  state->target = target;
  state->headers.Add("Content-Type", "application/json");
  for (const auto [name, value] : state->options.headers) {
    if (!IsFraming(name)) state->headers.Add(name, value);
  }
  return std::unique_ptr<SpanExporter>(new SpanExporter(std::move(state)));
}

SpanExporter::SpanExporter(std::unique_ptr<State> state) : state_(std::move(state)) {}

SpanExporter::~SpanExporter() { Stop(); }

void SpanExporter::Start() {
  asio::co_spawn(state_->io, state_->Run(), [state = state_.get()](const std::exception_ptr&) { state->io.stop(); });
  state_->thread = std::thread([state = state_.get()] { state->io.run(); });
}

void SpanExporter::Stop() {
  if (!state_->thread.joinable()) return;
  asio::steady_timer last(state_->io, ToChrono(kLastWords));
  asio::post(state_->io, [state = state_.get(), &last] {
    state->stopping = true;
    state->timer.cancel();
    state->next_try.cancel();
    last.async_wait([state](const boost::system::error_code& error) {
      if (!error) state->io.stop();
    });
  });
  state_->thread.join();
  state_->Count(SpanEnd::kDropped, SpansOf(std::exchange(state_->queue, {})));
}

void SpanExporter::Add(EndedTrace trace) {
  if (trace.spans.empty()) return;
  const size_t spans = trace.spans.size();
  const size_t bytes = BytesOf(trace);
  TimedTrace timed{std::move(trace), WallLead()};
  bool wakes = false;
  {
    std::lock_guard lock(state_->mutex);
    const size_t queued = state_->queue.size();
    const SpanExporter::Options& options = state_->options;
    if (queued < options.max_queued && state_->queued_bytes + bytes <= options.max_bytes) {
      state_->queued_bytes += bytes;
      state_->queue.push_back(std::move(timed));
      wakes = queued + 1 == options.max_batch;
    } else {
      state_->Count(SpanEnd::kDropped, spans);
    }
  }
  if (wakes) state_->Wake();
}

double SpanExporter::sample() const { return state_->options.sample; }

}  // namespace penstock
