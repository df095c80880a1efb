#include "router/session/session.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "backends/engines/catalogue/engine_catalogue.h"
#include "base/json_string.h"
#include "router/live/loop_turn.h"
#include "router/openai/passed/body_scan.h"
#include "router/session/client/attended.h"
#include "router/telemetry/engine_metrics.h"

namespace penstock {
namespace asio = boost::asio;

namespace {

// An attempt at a lost engine that heard nothing for this long is given up.
constexpr Duration kSilence = Duration::Seconds(1);

bool Serves(const ReplicaSpec& replica, ModelId model) { return !replica.removed && replica.Serves(model); }

// Zero: unknown.
Tokens ContextOf(const FleetView& fleet, ReplicaId replica) {
  const std::vector<ReplicaSpec>& replicas = fleet.book.fleet().replicas;
  return replica.value() < replicas.size() ? replicas[replica.value()].max_context : Tokens(0);
}

}  // namespace

Session::Session(EventLoop& loop, Client& client, SessionRequest request)
    : state_(loop, client, std::move(request)),
      wake_(loop.io()),
      delivery_(state_),
      fresh_(state_),
      record_(state_, delivery_),
      admission_(state_),
      ending_(state_, admission_, delivery_, record_),
      free_(state_) {
  loop.edge().telemetry->AddBufferedBytes(static_cast<int64_t>(state_.request.body.size()));
}

Session::~Session() {
  state_.loop.edge().telemetry->AddBufferedBytes(-static_cast<int64_t>(state_.request.body.size()));
  state_.client().Unwatch();
  if (admission_.arrived()) record_.End(RequestOutcome::kClientGone, "");
}

asio::awaitable<void> Session::Run() {
  std::optional<ApiError> denied = CheckPath(state_.request, state_.loop.edge().pseudonym);
  if (!denied) denied = CheckSteering(state_.request);
  if (!denied) denied = CheckCaller(state_.request, *state_.fleet, state_.prepared);
  if (!denied) denied = CheckKey(state_.request, *state_.fleet, state_.loop.edge().keys, state_.prepared);
  if (denied) return ending_.TurnAway(*std::move(denied));
  if (state_.request.endpoint == Endpoint::kStoredResponse) {
    denied = CheckStoredRequest(state_.request, *state_.fleet, state_.prepared);
    return denied ? ending_.TurnAway(*std::move(denied)) : Serve();
  }
  if (state_.request.body.size() > kScanSlice || NeedsPassedScan(state_.request.endpoint)) return ServeLongBody();
  std::optional<ApiError> error =
      CheckBody(state_.request, *state_.fleet,
                ScanRequest(state_.request.endpoint, state_.request.body, AllOutputLimits()), state_.prepared);
  if (error) return ending_.TurnAway(*std::move(error));
  return Serve();
}

asio::awaitable<void> Session::ServeLongBody() {
  std::optional<ApiError> error;
  {
    const SessionRequest& request = state_.request;
    const PassedRequest passed{request.endpoint, request.route.get(), request.target,
                               FindHeader(*request.headers, "content-type")};
    BodyScan scan(passed, request.body, AllOutputLimits());
    const Attended attended(state_.client());
    while (!attended.gone() && !scan.Advance()) co_await LetOthersRun(state_.loop.io());
    if (attended.gone()) co_return;
    error = CheckBody(state_.request, *state_.fleet, scan.Take(), state_.prepared);
  }
  if (error) {
    co_await ending_.TurnAway(*std::move(error));
  } else {
    co_await Serve();
  }
}

asio::awaitable<void> Session::Serve() {
  fresh_.MindMemory();
  delivery_.Begin();
  Client& client = state_.client();
  if (IsFree(state_.request.endpoint)) {
    admission_.StayOut(*this);
  } else {
    admission_.Arrive(*this);
  }
  client.Watch([this] { OnClientGone(); });
  record_.OnWait();
  // The frame lives as long as the stream, so other coroutines hold what only a part of the life needs.
  while (true) {
    const bool placed = co_await AwaitPlace();
    if (!placed) break;
    std::optional<AttemptEnd> ended = co_await attempt_->Send();
    if (!ended) ended = co_await attempt_->ReadAnswer();
    AttemptEnd& end = *ended;
    record_.OnAttemptEnd(end);
    end.writes = attempt_->writes();
    end.partial_writes = attempt_->partial_writes();
    end.cache_lost = TellsOfLostCache(end);
    if (attempt_->LeavesWork(end)) co_await attempt_->CancelWork();
    attempt_.reset();
    if (state_.answer.usage_check.failed) state_.loop.edge().telemetry->engines().OnFalseUsage(state_.ReplicaName());
    if (end.kind == AttemptEnd::Kind::kFinished) {
      ending_.Finished();
      break;
    }
    const NextStep step = Judge(end);
    if (step.kind == NextStep::Kind::kPlaceAgain || step.kind == NextStep::Kind::kContinue) {
      PlaceAgain(std::move(end));
      continue;
    }
    co_await ending_.After(std::move(end), step);
    break;
  }
  free_.Release();
  delivery_.StopKeepAlive();
  client.Unwatch();
  if (delivery_.writing()) co_await delivery_.Settle();
  if (client.gone()) record_.End(RequestOutcome::kClientGone, "");
}

asio::awaitable<bool> Session::AwaitPlace() {
  std::optional<Verdict> verdict = VerdictAtHand();
  if (!verdict) verdict = co_await AwaitVerdict();
  if (verdict && std::holds_alternative<Forward>(*verdict)) {
    BeginAttempt(std::get<Forward>(*verdict));
    co_return true;
  }
  if (verdict) {
    co_await ending_.Refused(std::get<Refuse>(*verdict));
  } else if (admission_.ticket().cut()) {
    co_await ending_.ShutDown();
  }
  co_return false;
}

std::optional<Verdict> Session::VerdictAtHand() {
  if (state_.client().gone() || admission_.ticket().cut()) return std::nullopt;
  if (IsFree(state_.request.endpoint)) return free_.Next();
  return admission_.ticket().TakeVerdict();
}

asio::awaitable<std::optional<Verdict>> Session::AwaitVerdict() {
  Ticket& ticket = admission_.ticket();
  if (const auto park = ticket.TakePark()) {
    state_.park = park;
    record_.OnPark(*park);
  }
  while (!state_.client().gone() && !ticket.cut()) {
    if (std::optional<Verdict> verdict = VerdictAtHand()) co_return verdict;
    co_await wake_.Wait();
  }
  co_return std::nullopt;
}

void Session::BeginAttempt(const Forward& forward) {
  state_.forward = forward;
  state_.fleet = state_.loop.fleet();  // The replica may be younger than the request.
  state_.ledger.OnForward();
  state_.heard = Now();
  if (state_.ledger.attempts() == 1) state_.answer_deadline = state_.heard + state_.limits->answer_timeout;
  state_.given_up.reset();
  state_.in_prefill = false;
  state_.handover.clear();
  state_.engine_status = 0;
  state_.answer.usage_check = {BoundsOf(state_.facts(), ContextOf(*state_.fleet, forward.replica)), false};
  record_.OnForward();
  if (const InsideRequest* inside = state_.request.inside) inside->observer->OnForward();
  attempt_.emplace(state_, admission_, delivery_);
}

AnswerProgress Session::ProgressNow() const {
  AnswerProgress progress;
  progress.any_answer = state_.any_answer;
  progress.resume_due = delivery_.resume_due();
  progress.delivered = state_.answer.client_tokens();
  // Half of a surrogate pair goes into no request: engines refuse it.
  std::string text;
  progress.other_text = state_.answer.other_text || !AppendUnescaped(state_.answer.PromptText(), &text);
  progress.text_whole = state_.answer.text.whole();
  progress.exhausted = state_.ledger.exhausted();
  progress.deadline = state_.answer_deadline;
  if (fresh_.due()) {
    progress.any_answer = progress.resume_due = progress.other_text = false;
    progress.delivered = 0;
  }
  const std::vector<ReplicaSpec>& replicas = state_.fleet->book.fleet().replicas;
  for (size_t i = 0; i < std::min(replicas.size(), state_.fleet->engines.size()); ++i) {
    if (!Serves(replicas[i], state_.prepared.model)) continue;
    const std::optional<Capabilities>& capabilities = state_.fleet->engines[i].capabilities;
    progress.another_serves |= i != state_.replica().value() && replicas[i].role != EngineRole::kPrefill;
    // While an engine is not recognised, it may continue a completion.
    progress.another_continues |= capabilities ? capabilities->Continues(state_.request.endpoint)
                                               : state_.request.endpoint == Endpoint::kCompletions;
  }
  return progress;
}

bool Session::TellsOfLostCache(const AttemptEnd& end) {
  const bool failed = end.kind == AttemptEnd::Kind::kFailed;
  const bool refused = end.kind == AttemptEnd::Kind::kRejected && !end.denied;
  if ((!failed && !refused) || state_.handover.empty()) return false;
  const bool before = std::exchange(state_.cache_failed, true);
  return !before && (refused || (end.engine_error == EngineErrorKind::kServer && !end.hopeless));
}

NextStep Session::Judge(AttemptEnd& end) {
  state_.silent_work.reset();
  if (end.engine_at_fault) record_.OnEngineError(end);
  const Blame blame = BlameOf(end);
  // A request that breaks every engine tells of itself: it counts once for all of them.
  // A page for tokens, or the handshake of a WebSocket, may be broken at an engine that generates well.
  const bool beside = IsQuick(state_.request.endpoint) || state_.request.endpoint == Endpoint::kRealtime;
  const bool broken = blame == Blame::kBroken && !beside;
  if (blame == Blame::kUnreached || (broken && !std::exchange(state_.told_broken, true))) {
    state_.loop.edge().report(state_.replica(),
                              blame == Blame::kUnreached ? EngineNews::kConnectFailed : EngineNews::kBrokenAnswer);
  }
  end.excused = fresh_.Excuses(end);
  if (!end.excused) state_.ledger.OnEnd(end, state_.replica(), state_.answer.delivered);
  const NextStep step = After(end, state_.request.endpoint, state_.facts(), ProgressNow(), Now());
  if (!admission_.ticket().open() || !fresh_.Saves(end, step)) return step;
  admission_.ticket().FixAnswer();
  return {NextStep::Kind::kPlaceAgain, std::nullopt, std::nullopt};
}

// The client keeps the tokens that it has; the rest is generated again, or the answer continued from there.
void Session::PlaceAgain(AttemptEnd end) {
  ending_.Remember(std::move(end.error));
  admission_.ticket().LeaveBoard();
  if (fresh_.due()) fresh_.ForgetAnswer();
  delivery_.AwaitResume();
  admission_.Requeue(end.excused || end.kind == AttemptEnd::Kind::kAborted, state_.ledger.pause());
  record_.OnWait();
  if (const InsideRequest* inside = state_.request.inside) inside->observer->OnRequeue();
  state_.client().Attach();
}

void Session::OnClientGone() {
  admission_.Close(Outcome::kClientGone);
  if (attempt_) attempt_->Abort();
  wake_.Notify();
}

bool Session::MustGoOn(AbortReason reason) const {
  const AttemptEnd end = EndedBy(AttemptEnd::Kind::kAborted);
  const NextStep step = After(end, state_.request.endpoint, state_.facts(), ProgressNow(), Now());
  // The core knows no count that its client's pace follows.
  if (state_.answer.relayed.miscounted) return true;
  if (step.kind == NextStep::Kind::kFail) return true;
  // An evicted request waits for some time, and computes its context again.
  if (reason == AbortReason::kEviction) return (state_.answer_deadline - Now()) * 2 < state_.limits->answer_timeout;
  // A parked stream comes back shortly before its next token is due.
  const ClassChoice& goals = state_.prepared.service_class;
  return state_.arrival + goals.ttft + goals.tpot * state_.answer.generated() >= state_.answer_deadline;
}

bool Session::OnAbort(AbortReason reason) {
  if (MayDecline(reason) && attempt_ && MustGoOn(reason)) return false;
  record_.OnAbort(reason);
  if (attempt_) attempt_->Abort();
  return true;
}

// An engine that is merely deaf to its polls still gives tokens. Where no other can take over, it may yet come back.
void Session::OnReplicaLost(ReplicaId replica, EngineLoss loss) {
  if (!attempt_ || state_.replica() != replica || Now() - state_.heard < kSilence) return;
  const EngineErrorKind kind = loss == EngineLoss::kAsleep ? EngineErrorKind::kAsleep : EngineErrorKind::kHung;
  AttemptEnd end = EngineFailed(kind, "");
  end.writes = attempt_->writes();
  end.partial_writes = attempt_->partial_writes();
  AttemptLedger ledger = state_.ledger;
  ledger.OnEnd(end, replica, state_.answer.delivered);
  AnswerProgress progress = ProgressNow();
  progress.exhausted = ledger.exhausted();
  const NextStep step = After(end, state_.request.endpoint, state_.facts(), progress, Now());
  if (step.kind == NextStep::Kind::kFail) return;
  state_.given_up = kind;
  attempt_->Abort();
}

void Session::OnCut() {
  delivery_.Cut();
  if (attempt_) attempt_->Abort();
  wake_.Notify();
}

}  // namespace penstock
