#include "router/session/apart/background_watch.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/dialect/answer_reader.h"
#include "backends/dialect/json_scanner.h"

namespace penstock {
namespace asio = boost::asio;

namespace {

constexpr Duration kLeastPause = Duration::Milliseconds(250);
constexpr Duration kMostPause = Duration::Seconds(5);
constexpr double kPausePart = 1.0 / 8;
// A draining router looks so often whether it does.
constexpr Duration kNap = Duration::Seconds(1);
constexpr Duration kPatience = Duration::Seconds(10);
constexpr Duration kMostSilence = Duration::Seconds(30);
constexpr size_t kMostBody = 16 << 20;

// Empty: the body has none.
std::string StatusOf(absl::string_view body) {
  std::string status;
  JsonScanner scanner(body);
  const bool json = scanner.WholeObject(
      [&](absl::string_view key) { return key == "status" ? scanner.CopyString(&status) : scanner.Skip(); });
  return json ? status : std::string();
}

}  // namespace

BackgroundWatch::BackgroundWatch(SessionState& state, HeaderList headers)
    : state_(state),
      headers_(std::move(headers)),
      began_(Now()),
      wake_(state.loop.io()),
      pause_(state.loop.deadlines(), [this] { wake_.Notify(); }) {}

bool BackgroundWatch::leaving() const { return left_ || state_.loop.edge().draining.load(std::memory_order_relaxed); }

void BackgroundWatch::Leave() {
  left_ = true;
  if (exchange_) exchange_->Abort();
  wake_.Notify();
}

asio::awaitable<Outcome> BackgroundWatch::Run() {
  Instant heard = Now();
  while (true) {
    co_await Pause();
    auto found = Found::kSilence;
    if (!leaving()) found = co_await Look();
    if (leaving()) co_return Outcome::kClientGone;
    if (found == Found::kEnded) co_return Outcome::kFinished;
    if (found == Found::kNothing) co_return Outcome::kEngineFailed;
    if (found != Found::kSilence) heard = Now();
    if (Now() - heard > kMostSilence) co_return Outcome::kEngineFailed;
    if (Now() < state_.answer_deadline) continue;
    co_await Cancel();
    co_return Outcome::kEngineFailed;
  }
}

asio::awaitable<void> BackgroundWatch::Pause() {
  const Duration age = Now() - began_;
  const Instant until = Now() + std::clamp(age * kPausePart, kLeastPause, kMostPause);
  while (!leaving() && Now() < until) {
    pause_.Arm(std::min(kNap, until - Now()));
    co_await wake_.Wait();
  }
}

asio::awaitable<BackgroundWatch::Found> BackgroundWatch::Look() {
  const std::optional<Reply> reply = co_await Ask("GET", absl::StrCat("/v1/responses/", state_.response_id));
  if (!reply) co_return Found::kSilence;
  state_.heard = Now();
  if (reply->status == http_status::kNotFound) co_return Found::kNothing;
  co_return http_status::IsSuccess(reply->status) ? Read(reply->body) : Found::kSilence;
}

BackgroundWatch::Found BackgroundWatch::Read(const std::string& body) {
  const std::string status = StatusOf(body);
  if (status == "queued" || status == "in_progress") return Found::kRunning;
  if (status.empty()) return Found::kSilence;
  const AnswerFacts facts = ReadAnswer(Endpoint::kResponses, body);
  state_.answer.usage = facts.usage;
  if (state_.answer.usage) KeepPossible(state_.answer.usage_check, *state_.answer.usage);
  state_.answer.finish_reason = status == "cancelled" ? "cancelled" : facts.finish_reason;
  return Found::kEnded;
}

asio::awaitable<void> BackgroundWatch::Cancel() {
  co_await Ask("POST", absl::StrCat("/v1/responses/", state_.response_id, "/cancel"));
}

asio::awaitable<std::optional<BackgroundWatch::Reply>> BackgroundWatch::Ask(const char* method, std::string target) {
  const std::shared_ptr<UpstreamPool> pool = state_.loop.PoolOf(state_.forward->replica);
  if (pool == nullptr) co_return std::nullopt;
  UpstreamRequest question;
  question.method = method;
  question.target = std::move(target);
  question.headers = headers_;
  exchange_.emplace();
  std::optional<absl::Status> sent = pool->SendNow(*exchange_, question);
  if (!sent) sent = co_await pool->FinishSend(*exchange_, kPatience);
  std::optional<Reply> reply;
  if (sent->ok()) {
    const auto head = co_await exchange_->ReadHead(kPatience);
    if (head.ok()) {
      auto body = co_await exchange_->ReadAll(kPatience, kMostBody);
      if (body.ok()) reply = Reply{head->status, *std::move(body)};
    }
  }
  exchange_.reset();
  co_return reply;
}

}  // namespace penstock
