#include "router/session/apart/background_watch.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "router/telemetry/log/decision_log.h"

namespace penstock {
namespace asio = boost::asio;

namespace {

constexpr Duration kLeastPause = Duration::Milliseconds(250);
constexpr Duration kMostPause = Duration::Seconds(5);
constexpr double kPausePerAge = 1.0 / 8;
// A draining router looks so often whether it does.
constexpr Duration kNap = Duration::Seconds(1);
constexpr Duration kPatience = Duration::Seconds(5);
constexpr Duration kMostSilence = Duration::Seconds(30);
constexpr Duration kCancelPatience = Duration::Seconds(2);
constexpr int kCancelTries = 3;
// Several servers may share one address.
constexpr int kUnknownInRow = 3;

}  // namespace

Duration PauseAt(Duration age) {
  return std::clamp(Duration::Seconds(age.seconds() * kPausePerAge), kLeastPause, kMostPause);
}

BackgroundWatch::BackgroundWatch(SessionState& state, std::shared_ptr<UpstreamPool> pool, HeaderList headers)
    : state_(state),
      pool_(std::move(pool)),
      headers_(std::move(headers)),
      began_(Now()),
      wake_(state.loop.io()),
      pause_(state.loop.deadlines(), [this] { wake_.Notify(); }) {}

bool BackgroundWatch::draining() const { return state_.loop.edge().draining.load(std::memory_order_relaxed); }

void BackgroundWatch::Leave() {
  left_ = true;
  if (exchange_) exchange_->Abort();
  wake_.Notify();
}

asio::awaitable<Outcome> BackgroundWatch::Run() {
  Instant heard = Now();
  int unknown = 0;
  while (true) {
    co_await Pause();
    auto found = Found::kSilence;
    if (!leaving()) found = co_await Look();
    if (leaving() && !draining()) co_await Cancel();
    if (leaving()) co_return Outcome::kClientGone;
    if (found == Found::kEnded) co_return Outcome::kFinished;
    unknown = found == Found::kNothing ? unknown + 1 : 0;
    if (unknown == kUnknownInRow) co_return Outcome::kEngineFailed;
    if (found != Found::kSilence) heard = Now();
    if (Now() - heard <= kMostSilence && Now() < state_.answer_deadline) continue;
    co_await Cancel();
    co_return Outcome::kEngineFailed;
  }
}

asio::awaitable<void> BackgroundWatch::Pause() {
  const Instant until = Now() + PauseAt(Now() - began_);
  while (!leaving() && Now() < until) {
    pause_.Arm(std::min(kNap, until - Now()));
    co_await wake_.Wait();
  }
}

asio::awaitable<BackgroundWatch::Found> BackgroundWatch::Look() {
  const Reply reply = co_await Ask("GET", absl::StrCat("/v1/responses/", state_.response_id), kPatience);
  if (reply.status == 0) co_return Found::kSilence;
  state_.heard = Now();
  if (reply.status == http_status::kNotFound) co_return Found::kNothing;
  if (!http_status::IsSuccess(reply.status)) co_return Found::kSilence;
  co_return reply.endless ? Found::kRunning : Read(reply.facts);
}

BackgroundWatch::Found BackgroundWatch::Read(const AnswerFacts& facts) {
  if (facts.status == "queued" || facts.status == "in_progress") return Found::kRunning;
  if (facts.status.empty()) return Found::kSilence;
  state_.answer.usage = facts.usage;
  if (state_.answer.usage) KeepPossible(state_.answer.usage_check, *state_.answer.usage);
  state_.answer.finish_reason = facts.status == "cancelled" ? "cancelled" : facts.finish_reason;
  return Found::kEnded;
}

asio::awaitable<void> BackgroundWatch::Cancel() {
  for (int tried = 0; tried < kCancelTries; ++tried) {
    const Reply reply =
        co_await Ask("POST", absl::StrCat("/v1/responses/", state_.response_id, "/cancel"), kCancelPatience);
    if (reply.status != 0) co_return;
    pause_.Arm(kLeastPause);
    co_await wake_.Wait();
  }
  const Edge& edge = state_.loop.edge();
  if (edge.log == nullptr) co_return;
  DecisionEntry entry;
  entry.level = LogLevel::kWarning;
  entry.replica = state_.ReplicaName();
  entry.message = "background work may go on: its cancellation had no answer";
  edge.log->Write(std::move(entry));
}

asio::awaitable<BackgroundWatch::Reply> BackgroundWatch::Ask(const char* method, std::string target,
                                                             Duration patience) {
  Reply reply;
  // None: the replica left the fleet, or has another name. Its engine goes on with the work.
  if (auto current = state_.loop.PoolOf(state_.forward->replica)) pool_ = std::move(current);
  UpstreamRequest question;
  question.method = method;
  question.target = std::move(target);
  question.headers = headers_;
  const Instant until = Now() + patience;
  const auto left = [until] { return std::max(Duration(), until - Now()); };
  exchange_.emplace();
  std::optional<absl::Status> sent = pool_->SendNow(*exchange_, std::move(question));
  if (!sent) sent = co_await pool_->FinishSend(*exchange_, left());
  if (sent->ok()) {
    const auto head = co_await exchange_->ReadHead(left());
    AnswerScan scan(Endpoint::kResponses);
    Bytes size(0);
    const auto take = [&](absl::string_view piece) {
      size += Bytes(static_cast<int64_t>(piece.size()));
      reply.endless = size > state_.limits->max_answer || Now() > until;
      return !reply.endless && scan.Feed(piece);
    };
    if (head.ok()) {
      const absl::StatusOr<bool> ended = co_await exchange_->ReadWhile(left(), take);
      if (ended.ok()) reply.status = head->status;
      if (ended.ok() && *ended) reply.facts = scan.Finish();
    }
  }
  exchange_.reset();
  co_return reply;
}

}  // namespace penstock
