#include "router/session/generation.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "router/openai/request/prefix_hashes.h"
#include "router/openai/request/routes.h"

namespace penstock {
namespace asio = boost::asio;

namespace {

// Answers that came whole without a reason (embeddings) ended well too.
bool EndedWell(absl::string_view finish_reason) {
  return finish_reason.empty() || finish_reason == "stop" || finish_reason == "length" ||
         finish_reason == "tool_calls" || finish_reason == "function_call";
}

}  // namespace

Generation::Generation(EventLoop& loop, ClientConnection& client, ClientRequest&& request, Endpoint endpoint,
                       Answer& answer)
    : loop_(loop),
      client_(client),
      request_(std::move(request)),
      endpoint_(endpoint),
      answer_(answer),
      fleet_(loop.fleet()),
      limits_(fleet_->config().limits),
      arrival_(Now()),
      wake_(loop.io()),
      keep_alive_(loop.deadlines(), [this] {
        answer_.SendComment(AnswerHeaders());
        keep_alive_.Arm(limits_.keepalive_after);
      }) {
  loop_.edge().telemetry->AddBufferedBytes(static_cast<int64_t>(request_.body.size()));
}

Generation::~Generation() {
  loop_.edge().telemetry->AddBufferedBytes(-static_cast<int64_t>(request_.body.size()));
  client_.Unwatch();
  client_.Reuse(std::move(request_.body));
  if (!recorded_ && ticket_ != nullptr) Record(RequestOutcome::kClientGone, "");
}

asio::awaitable<void> Generation::Run() {
  if (std::optional<ApiError> error = PrepareAll()) return TurnAway(*std::move(error));
  Arrive();
  return Serve();
}

std::optional<ApiError> Generation::PrepareAll() {
  std::optional<ApiError> error = Prepare();
  if (!error) error = Place();
  if (!error && caller_.limited) error = ChargeTenant();
  return error;
}

asio::awaitable<void> Generation::TurnAway(ApiError error) {
  if (error.bad_input) loop_.edge().telemetry->OnBadInput(*error.bad_input);
  co_await answer_.Error(error);
  if (!error.bad_input) LogRefusal(error, Refuse());
  Record(error.bad_input ? RequestOutcome::kBadRequest : RequestOutcome::kRefused, error.reason);
}

std::optional<ApiError> Generation::Prepare() {
  auto caller = fleet_->tenants.Identify(request_.headers);
  if (ApiError* denied = std::get_if<ApiError>(&caller)) return std::move(*denied);
  caller_ = std::get<Caller>(std::move(caller));
  auto scanned = ScanRequest(endpoint_, request_.body);
  if (ApiError* bad = std::get_if<ApiError>(&scanned)) return std::move(*bad);
  facts_ = std::get<RequestFacts>(std::move(scanned));
  return std::nullopt;
}

std::optional<ApiError> Generation::Place() {
  auto chosen = ChooseClass(fleet_->config().classes, FindHeader(request_.headers, "x-penstock-class"),
                            facts_.service_tier, caller_.max_class);
  if (ApiError* bad = std::get_if<ApiError>(&chosen)) return std::move(*bad);
  class_ = std::get<ClassChoice>(std::move(chosen));
  const std::optional<ModelId> model = fleet_->book.ModelByName(facts_.model);
  if (!model) {
    // While an engine has not told its models yet, an unknown name may be one of them.
    const bool wait = fleet_->book.AwaitsDiscovery();
    const Refusal reason = wait ? Refusal::kNoReplica : Refusal::kUnknownModel;
    return FromRefusal(Refuse{RequestId(), reason, wait ? Duration::Seconds(1) : Duration(), 0, 0}, facts_.model);
  }
  model_ = *model;
  return std::nullopt;
}

std::optional<ApiError> Generation::ChargeTenant() {
  TenantDemand demand;
  demand.prompt = loop_.edge().core->Estimate(model_, facts_.text).tokens;
  demand.max_output = facts_.max_output;
  demand.sequences = Generates() ? Sequences() : 0;
  auto admitted = loop_.edge().tenants->Admit(caller_.tenant, demand);
  if (TenantCharge* charge = std::get_if<TenantCharge>(&admitted)) {
    charge_ = std::move(*charge);
    return std::nullopt;
  }
  const TenantDenial& denial = std::get<TenantDenial>(admitted);
  const Refusal reason = denial.by_requests ? Refusal::kTenantRequests : Refusal::kTenantTokens;
  return FromRefusal(Refuse{RequestId(), reason, denial.retry_after, denial.bound, denial.value}, facts_.model);
}

void Generation::Arrive() {
  const ClassConfig& goals = fleet_->config().classes[class_.position];
  active_ = ActiveTokenCounter(arrival_, goals.ttft, goals.tpot);
  const bool all_stream =
      model_.value() < fleet_->streams_everything.size() && fleet_->streams_everything[model_.value()];
  RequestArrived arrived;
  arrived.model = model_;
  arrived.service_class = fleet_->book.ClassByName(class_.name).value_or(fleet_->book.default_class());
  arrived.tenant = caller_.tenant;
  arrived.max_output = facts_.max_output;
  arrived.sequences = static_cast<int>(Sequences());
  arrived.embedding = !Generates();
  arrived.observed = facts_.stream || (all_stream && facts_.Reassemblable(endpoint_));
  arrived.regenerable = !facts_.stream || facts_.Continuable(endpoint_);
  if (facts_.prompt_is_text && facts_.prompt_at) {
    const std::string_view body(request_.body.data(), request_.body.size());
    arrived.prefix = PrefixHashes(body.substr(facts_.prompt_at->begin, facts_.prompt_at->size()), model_);
  }
  arrived.body = Bytes(static_cast<int64_t>(request_.body.size()));
  if (facts_.stream && facts_.Continuable(endpoint_)) {
    state_.text = KeptText(loop_.edge().kept_text, {limits_.max_kept_text, limits_.max_kept_text_total});
  }
  ticket_ = std::make_unique<Ticket>(loop_, wake_, [this] {
    if (exchange_) exchange_->Abort();
  });
  const CoreHost::Prompt prompt{facts_.text, facts_.largest_prompt, fleet_->book.MaxContext(model_)};
  estimate_ = ticket_->Arrive(arrived, prompt);
}

asio::awaitable<void> Generation::Serve() {
  client_.Watch([this] { OnClientGone(); });
  if (facts_.stream) keep_alive_.Arm(limits_.keepalive_after);
  while (true) {
    std::optional<Verdict> verdict = VerdictAtHand();
    if (!verdict) verdict = co_await AwaitVerdict();
    if (!verdict) {
      if (ticket_->cut()) co_await OnCut();
      break;
    }
    if (const Refuse* refuse = std::get_if<Refuse>(&*verdict)) {
      co_await OnRefused(*refuse);
      break;
    }
    OnForward(std::get<Forward>(*verdict));
    AttemptEnd end = co_await Attempt();
    exchange_.reset();
    if (end.kind == AttemptEnd::Kind::kFinished) {
      Finish();
      break;
    }
    if (!co_await Settle(std::move(end))) break;
  }
  keep_alive_.Disarm();
  client_.Unwatch();
  if (client_.gone() && !recorded_) Record(RequestOutcome::kClientGone, "");
}

std::optional<Verdict> Generation::VerdictAtHand() {
  if (client_.gone() || ticket_->cut()) return std::nullopt;
  return ticket_->TakeVerdict();
}

asio::awaitable<std::optional<Verdict>> Generation::AwaitVerdict() {
  while (!client_.gone() && !ticket_->cut()) {
    if (std::optional<Verdict> verdict = VerdictAtHand()) co_return verdict;
    co_await wake_.Wait();
  }
  co_return std::nullopt;
}

bool Generation::MayBeServed() const {
  const std::vector<ReplicaSpec>& replicas = fleet_->book.fleet().replicas;
  return fleet_->book.AwaitsDiscovery() ||
         std::any_of(replicas.begin(), replicas.end(), [this](const ReplicaSpec& replica) {
           return !replica.removed &&
                  std::find(replica.models.begin(), replica.models.end(), model_) != replica.models.end();
         });
}

asio::awaitable<void> Generation::OnRefused(Refuse refuse) {
  if (refuse.reason == Refusal::kUnknownModel && MayBeServed()) {
    refuse.reason = Refusal::kNoReplica;
    refuse.retry_after = Duration::Seconds(1);
  }
  const ApiError error = FromRefusal(refuse, facts_.model);
  keep_alive_.Disarm();
  if (resume_due_) NoteResume(ResumeResult::kRefused);
  co_await answer_.Error(error);
  if (client_.gone()) co_return;
  LogRefusal(error, refuse);
  Record(RequestOutcome::kRefused, error.reason);
}

// What the client has stays whole: its stream ends with the reason instead of breaking off.
asio::awaitable<void> Generation::OnCut() {
  if (client_.gone()) co_return;
  CloseTicket(Outcome::kClientGone);
  const ApiError error = CutByShutdown();
  keep_alive_.Disarm();
  if (resume_due_) NoteResume(ResumeResult::kRefused);
  co_await answer_.Error(error);
  if (client_.gone()) co_return;
  LogRefusal(error, Refuse());
  Record(RequestOutcome::kRefused, error.reason);
}

void Generation::OnForward(const Forward& forward) {
  forward_ = forward;
  fleet_ = loop_.fleet();  // The replica may be younger than the request.
  if (++attempts_ == 1) answer_deadline_ = Now() + limits_.answer_timeout;
  LogForward();
}

void Generation::Finish() {
  CloseTicket(Outcome::kFinished);
  active_.OnEnd(EndedWell(state_.finish_reason));
  Record(RequestOutcome::kOk, "");
}

asio::awaitable<bool> Generation::Settle(AttemptEnd end) {
  using Kind = AttemptEnd::Kind;
  if (end.is_engine_error) LogEngineError(end);
  ReportHealth(end);
  switch (end.kind) {
    case Kind::kClientGone:
      CloseTicket(Outcome::kClientGone);
      co_return false;
    case Kind::kCut:
      co_await OnCut();
      co_return false;
    case Kind::kFinished:
      break;  // Finish().
    case Kind::kAborted:
    case Kind::kPlaceAgain:
      if (OnlyFinishMissing()) {
        state_.finish_reason = "length";
        if (co_await CloseAnswer(state_.finish_reason)) {
          active_.OnEnd(true);
          Record(RequestOutcome::kOk, "");
        }
        co_return false;
      }
      if (const auto bar = BarToAnother(end)) {
        end.error = std::make_unique<ApiError>(Uncontinued(end, *bar));
        if (any_answer_) NoteResume(*bar);
      } else {
        ReturnToCore(end);
        co_return true;
      }
      [[fallthrough]];
    case Kind::kFailed:
    case Kind::kRejected: {
      const bool rejected = end.kind == Kind::kRejected;
      if (resume_due_ || (!rejected && any_answer_ && end.kind == Kind::kFailed)) NoteResume(ResumeResult::kEngine);
      CloseTicket(rejected ? Outcome::kRejected : Outcome::kEngineFailed);
      active_.OnEnd(false);
      keep_alive_.Disarm();
      co_await answer_.Error(*end.error);
      Record(rejected ? RequestOutcome::kBadRequest : RequestOutcome::kEngineError, end.error->reason);
      co_return false;
    }
  }
  co_return false;
}

void Generation::ReportHealth(const AttemptEnd& end) {
  if (!end.is_engine_error) return;
  switch (end.engine_error) {
    case EngineErrorKind::kConnect:
      loop_.edge().report(forward_->replica, EngineNews::kConnectFailed);
      break;
    case EngineErrorKind::kTimeout:
    case EngineErrorKind::kClosed:
    case EngineErrorKind::kGarbage:
      loop_.edge().report(forward_->replica, EngineNews::kBrokenAnswer);
      break;
    case EngineErrorKind::kServer:
    case EngineErrorKind::kPushedBack:
    case EngineErrorKind::kOverflow:
      break;  // It lives and says so.
  }
}

}  // namespace penstock
