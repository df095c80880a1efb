#include "backends/engines/verbs/engine_verbs.h"

#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/dialect/json_values.h"
#include "base/clock.h"

namespace penstock {
namespace {

namespace asio = boost::asio;

constexpr Duration kAskTimeout = Duration::Seconds(2);
constexpr Duration kFirstPause = Duration::Milliseconds(20);
constexpr Duration kLongestPause = Duration::Milliseconds(500);
// An engine that answers a verb at its end says so on its page within this time.
constexpr Duration kGrace = Duration::Seconds(2);
constexpr Duration kProbeTimeout = Duration::Seconds(3);
// A wake that failed is put back within this time.
constexpr Duration kCleanUp = Duration::Seconds(30);
constexpr size_t kLongestAnswer = 1 << 20;
constexpr size_t kShownBytes = 200;

VerbRequest TokenRequest(const std::string& model) {
  return {"/v1/completions", EngineJson{{"model", model}, {"prompt", "a"}, {"max_tokens", 1}}.dump()};
}

VerbFault FaultOf(const absl::Status& status) {
  if (absl::IsDeadlineExceeded(status)) return VerbFault::kTimeout;
  if (absl::IsDataLoss(status) || absl::IsOutOfRange(status)) return VerbFault::kServer;
  return VerbFault::kConnect;
}

std::string Shown(absl::string_view body) {
  std::string text(body.substr(0, kShownBytes));
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 32; }, ' ');
  return text;
}

absl::string_view WordOf(EngineRest rest) {
  switch (rest) {
    case EngineRest::kAwake:
      return "it is awake";
    case EngineRest::kAsleep:
      return "it sleeps";
    case EngineRest::kBetween:
      return "it loads";
    case EngineRest::kFailed:
      return "its model could not be loaded";
    case EngineRest::kUnknown:
      break;
  }
  return "nothing";
}

}  // namespace

EngineVerbs::EngineVerbs(asio::io_context& loop, UpstreamPool& pool, std::string key, const SleepVerbs& verbs,
                         SleepTarget target)
    : pool_(pool), key_(std::move(key)), verbs_(verbs), target_(std::move(target)), pause_(loop) {}

void EngineVerbs::Stop() {
  stopped_ = true;
  pause_.cancel();
  exchange_.Abort();
}

asio::awaitable<VerbEnd> EngineVerbs::Run(Verb verb, Duration timeout) {
  began_ = false;
  VerbEnd result = co_await Carry(verb, timeout);
  if (verb == Verb::kWake && !result.ok() && began_ && !stopped_) co_await PutBack(result, std::min(timeout, kCleanUp));
  co_return result;
}

asio::awaitable<void> EngineVerbs::PutBack(VerbEnd& failed, Duration timeout) {
  const VerbEnd back = co_await Carry(Verb::kSleep, timeout);
  failed.holds = !back.ok();
  if (failed.holds) absl::StrAppend(&failed.message, "; and it may hold its memory: ", back.message);
}

asio::awaitable<VerbEnd> EngineVerbs::Carry(Verb verb, Duration timeout) {
  const Instant end = Now() + timeout;
  const EngineRest wanted = verb == Verb::kSleep ? EngineRest::kAsleep : EngineRest::kAwake;
  const std::vector<VerbRequest> requests = verb == Verb::kSleep ? verbs_.sleep(target_) : verbs_.wake(target_);
  for (const VerbRequest& request : requests) {
    VerbEnd sent = co_await Send(request, end);
    if (sent.ok()) continue;
    if (sent.fault != VerbFault::kRefused) co_return sent;
    const EngineRest rest = co_await Ask();
    if (rest == wanted) co_return VerbEnd();
    co_return sent;
  }
  co_return co_await Confirm(wanted, end);
}

asio::awaitable<VerbEnd> EngineVerbs::Post(VerbRequest request, Duration timeout) {
  co_return co_await Send(request, Now() + timeout);
}

asio::awaitable<absl::StatusOr<UpstreamHead>> EngineVerbs::Exchange(const UpstreamRequest& request, Duration timeout,
                                                                    std::string* body) {
  const Instant end = Now() + timeout;
  if (stopped_) co_return absl::CancelledError("stopped");
  auto exchange = co_await pool_.Send(request, timeout);
  if (!exchange.ok()) co_return exchange.status();
  exchange_ = *std::move(exchange);
  if (stopped_) co_return absl::CancelledError("stopped");
  auto head = co_await exchange_.ReadHead(std::max(Duration(), end - Now()));
  if (!head.ok()) co_return head.status();
  auto read = co_await exchange_.ReadAll(std::max(Duration(), end - Now()), kLongestAnswer);
  if (!read.ok()) co_return read.status();
  *body = *std::move(read);
  exchange_ = UpstreamExchange();
  co_return head;
}

asio::awaitable<VerbEnd> EngineVerbs::Send(const VerbRequest& request, Instant end) {
  UpstreamRequest upstream;
  upstream.target = request.path;
  // A stale connection may have brought the verb to the engine. A verb twice does no harm.
  upstream.headers.Add("Accept", "*/*");
  if (!key_.empty()) upstream.headers.Add("Authorization", absl::StrCat("Bearer ", key_));
  if (!request.body.empty()) {
    upstream.headers.Add("Content-Type", "application/json");
    upstream.body.push_back(request.body);
  }
  std::string body;
  const auto head = co_await Exchange(upstream, std::max(Duration::Milliseconds(1), end - Now()), &body);
  exchange_ = UpstreamExchange();
  const std::string name = absl::StrCat("POST ", request.path, ": ");
  if (stopped_) co_return VerbEnd{VerbFault::kStopped, name + "given up"};
  const bool refused = head.ok() && ((head->status >= 400 && head->status < 500) || head->status == 501);
  began_ = began_ || (!refused && !WasRefused(head.status()));
  if (absl::IsDeadlineExceeded(head.status())) co_return VerbEnd{VerbFault::kTimeout, name + "no answer in time"};
  if (!head.ok()) co_return VerbEnd{FaultOf(head.status()), absl::StrCat(name, head.status().message())};
  if (head->status >= 200 && head->status < 300) co_return VerbEnd();
  std::string message = absl::StrCat(name, "status ", head->status, ": ", Shown(body));
  if (request.asks_idle && head->status == 400) co_return VerbEnd{VerbFault::kBusy, std::move(message)};
  if (refused && verbs_.advice[0] != '\0') absl::StrAppend(&message, "; ", verbs_.advice);
  co_return VerbEnd{refused ? VerbFault::kRefused : VerbFault::kServer, std::move(message)};
}

asio::awaitable<EngineRest> EngineVerbs::Ask() {
  if (verbs_.page == nullptr) co_return EngineRest::kUnknown;
  UpstreamRequest request;
  request.method = "GET";
  request.target = verbs_.page;
  if (!key_.empty()) request.headers.Add("Authorization", absl::StrCat("Bearer ", key_));
  std::string body;
  const auto head = co_await Exchange(request, kAskTimeout, &body);
  exchange_ = UpstreamExchange();
  if (!head.ok() || head->status != 200) co_return EngineRest::kUnknown;
  co_return verbs_.read(body, target_);
}

asio::awaitable<VerbEnd> EngineVerbs::Confirm(EngineRest wanted, Instant end) {
  if (verbs_.page == nullptr) co_return VerbEnd();
  if (!verbs_.ends_later) end = std::min(end, Now() + kGrace);
  EngineRest rest = EngineRest::kUnknown;
  for (Duration pause = kFirstPause;; pause = std::min(pause * 2, kLongestPause)) {
    rest = co_await Ask();
    if (stopped_) co_return VerbEnd{VerbFault::kStopped, "given up"};
    if (rest == wanted) co_return VerbEnd();
    if (rest == EngineRest::kFailed) {
      began_ = false;  // It has ended what it began.
      co_return VerbEnd{VerbFault::kServer, absl::StrCat("the engine says on ", verbs_.page, " that ", WordOf(rest))};
    }
    if (Now() >= end) break;
    co_await Pause(std::min(pause, end - Now()));
  }
  // The answer to the verb was its end, and nothing speaks against it.
  if (rest == EngineRest::kUnknown && !verbs_.ends_later) co_return VerbEnd();
  const bool may_lie = wanted == EngineRest::kAwake && rest == EngineRest::kAsleep;
  if (may_lie && co_await Answers()) co_return VerbEnd{VerbFault::kNone, "", true};
  const VerbFault fault = verbs_.ends_later ? VerbFault::kTimeout : VerbFault::kUnchanged;
  co_return VerbEnd{fault,
                    absl::StrCat("the engine took the request, but says on ", verbs_.page, " that ", WordOf(rest))};
}

asio::awaitable<bool> EngineVerbs::Answers() {
  const VerbRequest request = TokenRequest(target_.model);
  const VerbEnd end = co_await Send(request, Now() + kProbeTimeout);
  co_return end.ok();
}

asio::awaitable<void> EngineVerbs::Pause(Duration time) {
  boost::system::error_code ignored;
  pause_.expires_after(ToChrono(time));
  co_await pause_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

}  // namespace penstock
