#include "router/session/delivery.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "router/openai/error/rate_limits.h"
#include "router/session/rules/receipt.h"
#include "router/session/state/exchange_ends.h"

namespace penstock {
namespace asio = boost::asio;

namespace {

constexpr Duration kUsualQuiet = Duration::Seconds(10);

}  // namespace

Duration FirstComment(const LimitsConfig& limits, const ClassConfig& goals) {
  if (limits.keepalive_after) return *limits.keepalive_after;
  return goals.refuse_late ? std::max(kUsualQuiet, std::min(goals.ttft, goals.queue)) : kUsualQuiet;
}

Delivery::Delivery(SessionState& state)
    : state_(state), keep_alive_(state.loop.deadlines(), [this] {
        state_.client().KeepAlive(Headers());
        keep_alive_.Arm(state_.limits->keepalive_after.value_or(kUsualQuiet));
      }) {}

void Delivery::Begin() {
  const ClassConfig& goals = state_.fleet->config().classes[state_.prepared.service_class.position];
  active_ = ActiveTokenCounter(state_.arrival, goals.ttft, goals.tpot);
  const RequestFacts& facts = state_.facts();
  // The client of a batch's line gathers by itself.
  if (facts.stream_inside && state_.request.inside == nullptr) {
    gathered_ = std::make_unique<GatheringClient>(
        state_, state_.client(), [this] { return Headers(); }, [this] { OnWhole(state_.answer.output().value()); });
    state_.receiver = &*gathered_;
  } else if (facts.stream && goals.even_delivery) {
    paced_ = std::make_unique<PacedClient>(state_, state_.client(), Pace{state_.arrival, goals.ttft, goals.tpot},
                                           [this](int64_t tokens, Instant now) { OnReached(tokens, now); });
    state_.receiver = &*paced_;
  }
  if (facts.stream && facts.Continuable(state_.request.endpoint)) {
    state_.answer.text = DeliveredText(state_.loop.edge().delivered_text,
                                       {state_.limits->max_kept_text, state_.limits->max_kept_text_total});
  }
  if (facts.stream) keep_alive_.Arm(FirstComment(*state_.limits, goals));
}

HeaderList Delivery::Headers() const {
  HeaderList headers;
  headers.Reserve(state_.engine_headers.size(), state_.engine_headers.bytes());
  for (const auto [name, value] : state_.engine_headers) {
    if (!IsRateLimit(name)) headers.Add(name, value);
  }
  if (state_.allowance) AddRateLimits(*state_.allowance, headers);
  if (state_.forward && WantsReceipt(*state_.request.headers)) headers.Add(kReceiptHeader, Receipt());
  return headers;
}

std::string Delivery::Receipt() const {
  const RequestTrace* trace = state_.request.trace.get();
  return ReceiptJson({state_.request.id, trace != nullptr ? trace->trace_id() : "", state_.ReplicaName(),
                      state_.PrefillName(), !state_.handover.empty(), state_.prepared.service_class.name,
                      *state_.forward, state_.park, state_.estimate.tokens, state_.ledger.attempts(), resumes_});
}

void Delivery::OnPiece(int64_t tokens, Instant now) {
  keep_alive_.Arm(state_.limits->keepalive_after.value_or(kUsualQuiet), now);
  state_.answer.delivered += tokens;
  if (gathered_) return;
  if (tokens > 0 && (!paced_ || paced_->passed())) OnReached(tokens, now);
}

void Delivery::OnReached(int64_t tokens, Instant now) {
  if (!first_token_at_) first_token_at_ = now;
  last_token_at_ = now;
  Deliver(tokens, now);
}

void Delivery::OnEnd(bool ended_well) {
  const std::optional<Usage>& usage = state_.answer.usage;
  const int64_t counted = active_.tokens();
  if (first_token_at_ && usage && usage->output.value() > counted) {
    Deliver(usage->output.value() - counted, last_token_at_);
  }
  active_.OnEnd(ended_well);
}

asio::awaitable<bool> Delivery::CloseStream(absl::string_view finish_reason) {
  RelayState& answer = state_.answer;
  if (!answer.usage) answer.usage = Usage{state_.estimate.tokens, Tokens(answer.client_tokens())};
  std::optional<Usage> usage;
  if (state_.facts().asks_usage && !answer.usage_sent) usage = answer.usage;
  const ChunkNames names = answer.shown.names.value_or(ChunkNames());
  const std::string events = state_.request.endpoint == Endpoint::kMessages
                                 ? answer.shown.message.Closing(finish_reason, answer.output())
                                 : ClosingEvents(state_.request.endpoint, names, finish_reason, usage);
  const std::vector<absl::string_view> pieces(1, events);
  const HeaderList none;
  if (!co_await SendEvents(state_.client(), none, pieces)) co_return false;
  co_return co_await state_.client().End();
}

AttemptEnd Delivery::ClientEnd() const {
  std::optional<AttemptEnd> end = gathered_ ? gathered_->Failure() : std::nullopt;
  return end ? *std::move(end) : ClientTakesNoMore(state_.client());
}

void Delivery::AwaitResume() {
  const bool keep = state_.any_answer;
  state_.answer.Restart(/*keep_delivered=*/keep, /*trimmed=*/state_.request.endpoint != Endpoint::kCompletions);
  if (!keep && resume_due_) OnResume(ResumeResult::kEngine);
  resume_due_ = resume_due_ || keep;
}

void Delivery::OnResume(ResumeResult result) {
  resume_due_ = false;
  if (result == ResumeResult::kContinued) ++resumes_;
  state_.loop.edge().telemetry->OnResume(result);
  if (RequestTrace* trace = state_.request.trace.get()) {
    trace->OnEvent(Now(), result == ResumeResult::kContinued ? "resumed" : "not_resumed",
                   {{"penstock.result", std::string(LabelOf(result))}});
  }
}

asio::awaitable<bool> Delivery::AnnounceResume() {
  OnResume(ResumeResult::kContinued);
  if (!WantsReceipt(*state_.request.headers)) co_return true;
  const std::string comment = absl::StrCat(": x-penstock-receipt ", Receipt(), "\n\n");
  const std::vector<absl::string_view> pieces(1, comment);
  const HeaderList none;
  co_return co_await SendEvents(state_.client(), none, pieces);
}

std::optional<Duration> Delivery::ttft() const {
  if (!first_token_at_) return std::nullopt;
  return *first_token_at_ - state_.arrival;
}

std::optional<Duration> Delivery::tpot() const {
  const std::optional<Usage>& usage = state_.answer.usage;
  const int64_t delivered = std::max(state_.answer.client_tokens(), usage ? usage->output.value() : 0);
  if (!first_token_at_ || delivered <= 1) return std::nullopt;
  return Duration::Nanoseconds((last_token_at_ - *first_token_at_).nanoseconds() / (delivered - 1));
}

}  // namespace penstock
