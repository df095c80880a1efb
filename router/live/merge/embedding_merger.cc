#include "router/live/merge/embedding_merger.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <chrono>
#include <variant>

#include "backends/dialect/answer_reader.h"
#include "router/openai/error/http_status.h"
#include "router/openai/request/body_splice.h"

namespace penstock {
namespace asio = boost::asio;

struct EmbeddingMerger::Call {
  Call(asio::io_context& loop, Key the_key) : key(std::move(the_key)), timer(loop) {}

  bool Left() const {
    return std::all_of(places.begin(), places.end(), [](const Place* place) { return place == nullptr; });
  }
  asio::awaitable<absl::StatusOr<std::vector<std::string>>> Ask();

  const Key key;
  std::vector<Place*> places;  // Null: the request left behind the start.
  size_t inputs = 0;
  size_t bytes = 0;
  asio::steady_timer timer;
  // From its start on.
  bool started = false;
  UpstreamPool* pool = nullptr;
  std::string body;
  std::vector<EmbeddingPart> parts;
  EmbeddingCall first;  // Without views.
  std::optional<UpstreamExchange> exchange;
  HeaderList headers;
};

asio::awaitable<absl::StatusOr<std::vector<std::string>>> EmbeddingMerger::Call::Ask() {
  const auto scanned = ScanRequest(Endpoint::kEmbeddings, body, {});
  const RequestFacts* facts = std::get_if<RequestFacts>(&scanned);
  if (facts == nullptr) co_return absl::InternalError("The merged request is none.");
  SpliceOrder order;
  order.engine_model = first.engine_model;
  const SplicedBody spliced(body, Endpoint::kEmbeddings, *facts, order);
  UpstreamRequest request;
  request.target = first.target;
  request.headers = first.headers;
  request.body = spliced.pieces();
  exchange.emplace();
  std::optional<absl::Status> sent = pool->SendNow(*exchange, request);
  if (!sent) sent = co_await pool->FinishSend(*exchange, first.send_timeout);
  if (!sent->ok()) co_return *sent;
  const absl::StatusOr<UpstreamHead> head = co_await exchange->ReadHead(first.answer_timeout);
  if (!head.ok()) co_return head.status();
  if (head->status != http_status::kOk || head->early) co_return absl::UnavailableError("The engine refused the call.");
  headers = head->headers;
  const absl::StatusOr<std::string> answer = co_await exchange->ReadAll(first.answer_timeout, first.longest_answer);
  if (!answer.ok()) co_return answer.status();
  const AnswerFacts read = ReadAnswer(Endpoint::kEmbeddings, *answer);
  if (read.malformed || read.error) co_return absl::DataLossError("The engine's answer is no list of embeddings.");
  co_return SplitEmbeddings(*answer, parts);
}

EmbeddingMerger::Place::Place(EmbeddingMerger& merger, UpstreamPool& pool, EmbeddingCall call)
    : merger_(merger), pool_(pool), call_(std::move(call)), wake_(merger.loop_) {}

EmbeddingMerger::Place::~Place() {
  Leave();
  if (alone_) merger_.Ended(call_.request.key);
}

asio::awaitable<void> EmbeddingMerger::Place::Wait() {
  if (merger_.lanes_[call_.request.key].at_engine == 0) {
    GoAlone();
    co_return;
  }
  merger_.Join(*this);
  while (in_ != nullptr && !left_) co_await wake_.Wait();
}

void EmbeddingMerger::Place::Leave() {
  left_ = true;
  if (in_ != nullptr) merger_.Remove(*this);
  wake_.Notify();
}

void EmbeddingMerger::Place::GoAlone() {
  ++merger_.lanes_[call_.request.key].at_engine;
  alone_ = true;
}

void EmbeddingMerger::Join(Place& place) {
  Lane& lane = lanes_[place.call_.request.key];
  if (lane.open == nullptr) {
    lane.open = std::make_shared<Call>(loop_, place.call_.request.key);
    lane.open->timer.expires_after(std::chrono::nanoseconds(kMostWait.nanoseconds()));
    lane.open->timer.async_wait([this, call = std::weak_ptr<Call>(lane.open)](const auto& error) {
      const std::shared_ptr<Call> still = call.lock();
      if (!error && still != nullptr && !still->started) Start(still->key);
    });
  }
  Call& call = *lane.open;
  place.in_ = lane.open;
  call.places.push_back(&place);
  call.inputs += place.call_.request.inputs.size();
  call.bytes += place.call_.body.size();
  if (call.inputs >= kMostInputs || call.bytes >= kMostBytes) Start(place.call_.request.key);
}

void EmbeddingMerger::Remove(Place& place) {
  const std::shared_ptr<Call> call = std::exchange(place.in_, nullptr);
  const auto at = std::find(call->places.begin(), call->places.end(), &place);
  if (!call->started) {
    call->inputs -= place.call_.request.inputs.size();
    call->bytes -= place.call_.body.size();
    call->places.erase(at);
    return;
  }
  *at = nullptr;
  if (call->Left() && call->exchange) call->exchange->Abort();
}

void EmbeddingMerger::Start(const Key& key) {
  Lane& lane = lanes_[key];
  const std::shared_ptr<Call> call = std::exchange(lane.open, nullptr);
  call->started = true;
  call->timer.cancel();
  if (call->places.empty()) return;
  if (call->places.size() == 1) {
    Place* place = call->places.front();
    place->in_ = nullptr;
    place->GoAlone();
    place->wake_.Notify();
    return;
  }
  ++lane.at_engine;
  std::vector<std::vector<absl::string_view>> inputs;
  for (const Place* place : call->places) {
    inputs.push_back(place->call_.request.inputs);
    call->parts.push_back({place->call_.request.inputs.size(), place->call_.tokens});
  }
  const Place& first = *call->places.front();
  call->pool = &first.pool_;
  call->body = MergedBody(first.call_.body, inputs);
  call->first = first.call_;
  call->first.request = {};
  call->first.body = {};
  asio::co_spawn(loop_, Run(call), asio::detached);
}

void EmbeddingMerger::Ended(const Key& key) {
  const auto lane = lanes_.find(key);
  if (lane == lanes_.end()) return;
  --lane->second.at_engine;
  if (lane->second.open != nullptr) Start(key);
  const auto after = lanes_.find(key);
  if (after->second.at_engine == 0 && after->second.open == nullptr) lanes_.erase(after);
}

asio::awaitable<void> EmbeddingMerger::Run(std::shared_ptr<Call> call) {
  absl::StatusOr<std::vector<std::string>> answers = co_await call->Ask();
  call->exchange.reset();
  for (size_t i = 0; i < call->places.size(); ++i) {
    Place* place = call->places[i];
    if (place == nullptr) continue;
    place->in_ = nullptr;
    if (answers.ok()) {
      place->answer_ = std::move((*answers)[i]);
      place->headers_ = call->headers;
    } else {
      place->GoAlone();
    }
    place->wake_.Notify();
  }
  on_end_(answers.ok() ? MergeEnd::kMerged : MergeEnd::kSentAlone, call->places.size());
  Ended(call->key);
}

}  // namespace penstock
