#include "router/live/merge/embedding_merger.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <iterator>
#include <variant>

#include "backends/dialect/answer_reader.h"
#include "base/clock.h"
#include "router/live/merge/gather_time.h"
#include "router/openai/error/http_status.h"
#include "router/openai/request/body_splice.h"

namespace penstock {
namespace asio = boost::asio;

namespace {

constexpr size_t kMemoryBlock = 64 << 10;
// Shared answers are one caller of the answers' budget.
constexpr uint64_t kMergedAccount = 0x6d65726765;

// The engine says that something in the request is bad: each half may be good.
bool Refuses(int status) {
  return status == http_status::kBadRequest || status == http_status::kContentTooLarge ||
         status == http_status::kUnprocessableContent;
}

// A connection that breaks is no answer that does not fit.
absl::Status Broken(const absl::Status& status) {
  return absl::IsDataLoss(status) ? absl::UnavailableError(status.message()) : status;
}

MergeEnd EndOf(const absl::Status& status) {
  if (status.ok()) return MergeEnd::kMerged;
  if (absl::IsInvalidArgument(status)) return MergeEnd::kDivided;
  return absl::IsDeadlineExceeded(status) ? MergeEnd::kDeserted : MergeEnd::kSentAlone;
}

}  // namespace

struct EmbeddingMerger::Call {
  Call(asio::io_context& loop, Key the_key) : key(std::move(the_key)), timer(loop) {}

  bool Deserted() const {
    return std::all_of(places.begin(), places.end(), [](const Place* place) { return place == nullptr; });
  }
  // The parts of the answer. InvalidArgument: the engine refused the call. DeadlineExceeded: it did not answer in time.
  // OutOfRange: the answer is too long. DataLoss: it does not fit. Any other error: each request goes alone.
  asio::awaitable<absl::StatusOr<std::vector<std::string>>> Ask();
  asio::awaitable<absl::Status> SendAndReadHead();
  asio::awaitable<absl::Status> ReadBody();
  Duration Left() const { return std::max(Duration(), first.deadline - Now()); }

  const Key key;
  std::vector<Place*> places;  // Null: the request left behind the start.
  size_t inputs = 0;
  size_t bytes = 0;
  const GatherTime gathers{Now()};
  asio::steady_timer timer;
  // From its start on.
  bool started = false;
  std::shared_ptr<UpstreamPool> pool;
  std::string body;
  std::vector<EmbeddingPart> parts;
  EmbeddingCall first;  // Without views.
  std::optional<UpstreamExchange> exchange;
  FairShare memory;
  std::string answer;
};

asio::awaitable<absl::Status> EmbeddingMerger::Call::SendAndReadHead() {
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
  std::optional<absl::Status> sent = pool->SendNow(*exchange, std::move(request));
  if (!sent) sent = co_await pool->FinishSend(*exchange, std::min(first.send_timeout, Left()));
  // A connection that takes long is no answer that takes long.
  if (!sent->ok()) co_return absl::UnavailableError(sent->message());
  const absl::StatusOr<UpstreamHead> head = co_await exchange->ReadHead(Left());
  if (!head.ok()) co_return Broken(head.status());
  if (Refuses(head->status)) co_return absl::InvalidArgumentError("The engine refused the call.");
  if (head->status != http_status::kOk || head->early) co_return absl::UnavailableError("The engine failed.");
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> EmbeddingMerger::Call::ReadBody() {
  const size_t longest = std::min(first.longest_answer, kMostAnswer);
  AnswerScan scan(Endpoint::kEmbeddings);
  absl::Status good;
  const auto take = [&](absl::string_view piece) {
    const size_t size = answer.size() + piece.size();
    // The parts are copies.
    const Bytes wanted(static_cast<int64_t>((2 * size + kMemoryBlock - 1) / kMemoryBlock * kMemoryBlock));
    if (size > longest) {
      good = absl::OutOfRangeError("The answer is too long for a shared one.");
    } else if (!memory.GrowTo(wanted, first.memory_limit)) {
      good = absl::ResourceExhaustedError("There is no memory for a shared answer.");
    } else if (!scan.Feed(piece)) {
      good = absl::DataLossError("The engine's answer is no JSON object.");
    } else {
      answer.append(piece.data(), piece.size());
    }
    return false;
  };
  absl::StatusOr<bool> ended = false;
  while (good.ok() && ended.ok() && !*ended) ended = co_await exchange->ReadWhile(Left(), take);
  if (!good.ok()) co_return good;
  if (!ended.ok()) co_return Broken(ended.status());
  const AnswerFacts facts = scan.Finish();
  if (facts.malformed || facts.error) co_return absl::DataLossError("The engine's answer is no list of embeddings.");
  co_return absl::OkStatus();
}

asio::awaitable<absl::StatusOr<std::vector<std::string>>> EmbeddingMerger::Call::Ask() {
  const absl::Status asked = co_await SendAndReadHead();
  if (!asked.ok()) co_return asked;
  const absl::Status read = co_await ReadBody();
  if (!read.ok()) co_return read;
  co_return SplitEmbeddings(answer, parts);
}

EmbeddingMerger::Place::Place(EmbeddingMerger& merger, std::shared_ptr<UpstreamPool> pool, EmbeddingCall call)
    : merger_(merger), pool_(std::move(pool)), call_(std::move(call)), wake_(merger.loop_), deadline_(merger.loop_) {}

EmbeddingMerger::Place::~Place() {
  Leave();
  if (alone_) merger_.Ended(call_.request.key);
}

asio::awaitable<void> EmbeddingMerger::Place::Wait() {
  if (merger_.lanes_[call_.request.key].at_engine == 0 || !merger_.trust_.Holds(Now())) {
    GoAlone();
    co_return;
  }
  merger_.Join(*this);
  deadline_.expires_after(ToChrono(std::max(Duration(), call_.deadline - Now())));
  // The place may be gone where its time passed just then.
  deadline_.async_wait([self = std::weak_ptr<Place*>(self_)](const boost::system::error_code& error) {
    const std::shared_ptr<Place*> still = self.lock();
    if (error || still == nullptr || (*still)->in_ == nullptr) return;
    (*still)->timed_out_ = true;
    (*still)->Leave();
  });
  while (in_ != nullptr && !left_) co_await wake_.Wait();
}

void EmbeddingMerger::Place::Leave() {
  left_ = true;
  if (in_ != nullptr) merger_.Remove(*this);
  wake_.Notify();
}

void EmbeddingMerger::Place::EndWith(std::optional<std::string> part, const absl::Status& status) {
  in_ = nullptr;
  answer_ = std::move(part);
  timed_out_ = absl::IsDeadlineExceeded(status);
  if (!answer_ && !timed_out_) GoAlone();
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
  }
  lane.open->timer.expires_after(ToChrono(lane.open->gathers.Left(Now())));
  lane.open->timer.async_wait([this, call = std::weak_ptr<Call>(lane.open)](const auto& error) {
    const std::shared_ptr<Call> still = call.lock();
    if (!error && still != nullptr && !still->started) Start(still->key);
  });
  Call& call = *lane.open;
  place.in_ = lane.open;
  call.places.push_back(&place);
  call.inputs += place.call_.request.inputs.size();
  call.bytes += place.call_.body.size();
  if (call.inputs >= most_inputs_ || call.bytes >= kMostBytes) Start(place.call_.request.key);
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
  if (call->Deserted() && call->exchange) call->exchange->Abort();
}

void EmbeddingMerger::Start(const Key& key) {
  const std::shared_ptr<Call> call = std::exchange(lanes_[key].open, nullptr);
  call->timer.cancel();
  Launch(call);
}

void EmbeddingMerger::Launch(const std::shared_ptr<Call>& call) {
  call->started = true;
  if (call->places.empty()) return;
  if (call->places.size() == 1) return call->places.front()->EndWith(std::nullopt, absl::OkStatus());
  ++lanes_[call->key].at_engine;
  std::vector<std::vector<absl::string_view>> inputs;
  for (const Place* place : call->places) {
    inputs.push_back(place->call_.request.inputs);
    call->parts.push_back({place->call_.request.inputs.size(), place->call_.tokens});
  }
  const Place& first = *call->places.front();
  call->pool = first.pool_;
  call->body = MergedBody(first.call_.body, inputs);
  call->first = first.call_;
  call->first.request = {};
  call->first.body = {};
  // Each place has a deadline of its own.
  for (const Place* place : call->places) call->first.deadline = std::max(call->first.deadline, place->call_.deadline);
  call->memory = FairShare(call->first.memory, kMergedAccount);
  asio::co_spawn(loop_, Run(call), asio::detached);
}

void EmbeddingMerger::Divide(Call& call) {
  std::vector<Place*> left;
  std::copy_if(call.places.begin(), call.places.end(), std::back_inserter(left),
               [](const Place* place) { return place != nullptr; });
  const auto middle = left.begin() + static_cast<std::ptrdiff_t>(left.size() / 2);
  for (const auto& [begin, end] : {std::pair(left.begin(), middle), std::pair(middle, left.end())}) {
    const auto half = std::make_shared<Call>(loop_, call.key);
    half->places.assign(begin, end);
    for (Place* place : half->places) {
      place->in_ = half;
      half->inputs += place->call_.request.inputs.size();
      half->bytes += place->call_.body.size();
    }
    Launch(half);
  }
}

void EmbeddingMerger::Ended(const Key& key) {
  const auto lane = lanes_.find(key);
  if (lane == lanes_.end()) return;
  --lane->second.at_engine;
  if (lane->second.open != nullptr) Start(key);
  const auto after = lanes_.find(key);
  if (after->second.at_engine == 0 && after->second.open == nullptr) lanes_.erase(after);
}

void EmbeddingMerger::Learn(const Call& call, const absl::Status& ended) {
  if (absl::IsOutOfRange(ended)) most_inputs_ = std::max<size_t>(1, call.inputs / 2);
  if (ended.ok()) most_inputs_ = std::min(most_inputs_ + 1, kMostInputs);
  if (ended.ok()) trust_.OnGood(Now());
  if (!absl::IsDataLoss(ended)) return;
  if (const std::optional<Duration> pause = trust_.OnBad(Now())) hooks_.on_bad_answer(ended, *pause);
}

asio::awaitable<void> EmbeddingMerger::Run(std::shared_ptr<Call> call) {
  absl::StatusOr<std::vector<std::string>> answers = co_await call->Ask();
  call->exchange.reset();
  call->memory.Release();
  Learn(*call, answers.status());
  hooks_.on_end(call->Deserted() ? MergeEnd::kDeserted : EndOf(answers.status()), call->places.size());
  if (absl::IsInvalidArgument(answers.status())) {
    Divide(*call);
  } else {
    for (size_t i = 0; i < call->places.size(); ++i) {
      if (call->places[i] == nullptr) continue;
      std::optional<std::string> part;
      if (answers.ok()) part = std::move((*answers)[i]);
      call->places[i]->EndWith(std::move(part), answers.status());
    }
  }
  Ended(call->key);
}

}  // namespace penstock
