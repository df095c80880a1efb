#include "router/session/merged_answer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "router/session/whole_answer.h"

namespace penstock {
namespace asio = boost::asio;

namespace {

// Headers that tell one request or one client from another, and that change no answer. A shared call has none of them.
bool NamesCaller(absl::string_view name) {
  constexpr std::array<absl::string_view, 6> kNames = {"x-request-id", "user-agent", "accept-language",
                                                       "traceparent",  "tracestate", "via"};
  return std::any_of(kNames.begin(), kNames.end(),
                     [name](absl::string_view each) { return absl::EqualsIgnoreCase(each, name); });
}

}  // namespace

bool MergedAnswer::MayMerge(const SessionState& state) {
  return state.request.endpoint == Endpoint::kEmbeddings && state.fleet->config().batching.embeddings &&
         state.request.body.size() < EmbeddingMerger::kMostBytes;
}

EmbeddingCall MergedAnswer::CallWith(const HeaderList& engine_headers) const {
  const SessionRequest& request = state_.request;
  EmbeddingCall call;
  call.request = ReadEmbeddingRequest(request.body);
  // A request of a higher class does not wait for the longer input of a lower one.
  AddToKey("class", absl::StrCat(state_.prepared.service_class.position), &call.request.key);
  // A header that an engine may read is a parameter too.
  for (const auto [name, value] : engine_headers) {
    if (NamesCaller(name)) continue;
    AddToKey(name, value, &call.request.key);
    call.headers.Add(name, value);
  }
  call.body = request.body;
  call.tokens = state_.estimate.tokens.value();
  call.target = std::string(TraitsOf(request.endpoint).path);
  call.engine_model = state_.fleet->book.EngineModelName(state_.forward->replica, state_.prepared.model);
  call.send_timeout = state_.Left(state_.limits->connect_timeout + state_.limits->body_timeout);
  call.deadline = Now() + state_.Left(state_.limits->first_byte_timeout);
  call.longest_answer = static_cast<size_t>(state_.limits->max_answer.value());
  call.memory = &state_.loop.edge().answers;
  call.memory_limit = state_.limits->max_answer_memory;
  return call;
}

asio::awaitable<std::optional<AttemptEnd>> MergedAnswer::Run(std::shared_ptr<UpstreamPool> pool,
                                                             HeaderList engine_headers) {
  EmbeddingCall call = CallWith(engine_headers);
  if (call.request.inputs.empty()) co_return std::nullopt;
  place_.emplace(state_.loop.EmbeddingsOf(state_.forward->replica), std::move(pool), std::move(call));
  const Instant began = Now();
  co_await place_->Wait();
  waited_ = Now() - began;
  if (auto interrupted = Interruption(state_.client(), admission_.ticket()).End()) co_return interrupted;
  if (state_.given_up) co_return EngineFailed(*state_.given_up, "The engine does not work any more.");
  if (place_->timed_out()) {
    AttemptEnd late = EngineFailed(EngineErrorKind::kTimeout, "The engine did not answer.");
    late.engine_at_fault = Now() < state_.answer_deadline;
    co_return late;
  }
  if (!place_->answer()) co_return std::nullopt;
  state_.heard = Now();
  // The headers of the call are about all of its requests.
  state_.engine_headers = HeaderList();
  WholeAnswer answer(state_, admission_, delivery_, none_, {"application/json", std::nullopt});
  co_return co_await answer.SendMerged(*place_->answer());
}

}  // namespace penstock
