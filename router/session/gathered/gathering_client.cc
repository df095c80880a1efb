#include "router/session/gathered/gathering_client.h"

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "router/live/loop_turn.h"

namespace penstock {
namespace asio = boost::asio;

namespace {

// An answer grows for as long as its engine works, and most are short.
constexpr size_t kBlock = 8 << 10;
constexpr absl::string_view kGatheredType = "application/json";
constexpr absl::string_view kTooLongText = "The engine's answer is longer than limits.max_answer.";

}  // namespace

GatheringClient::GatheringClient(const SessionState& state, Client& client, std::function<HeaderList()> headers,
                                 std::function<void()> on_sent)
    : ForwardingClient(client),
      state_(state),
      headers_(std::move(headers)),
      on_sent_(std::move(on_sent)),
      memory_(state, kBlock) {}

Written GatheringClient::Whole(int status, absl::string_view content_type, const HeaderList& headers,
                               absl::string_view body) {
  Forget();
  return client().Whole(status, content_type, headers, body);
}

void GatheringClient::BeginWhole(absl::string_view content_type, const HeaderList& headers,
                                 std::optional<uint64_t> length) {
  Forget();
  client().BeginWhole(content_type, headers, length);
}

Written GatheringClient::Events(const HeaderList&, const std::vector<absl::string_view>& pieces) {
  if (client().gone() || trouble_ != Trouble::kNone) return Written::kGone;
  if (!stream_) stream_ = std::make_unique<GatheredStream>(state_.request.endpoint);
  const absl::Status taken = stream_->Take(pieces);
  return Judge(taken);
}

Written GatheringClient::Judge(const absl::Status& taken) {
  if (client().gone()) return Written::kGone;
  if (!taken.ok()) {
    fault_ = absl::StrCat("The engine's stream makes no answer (", taken.message(), ").");
    Drop(Trouble::kUnfit);
  } else if (stream_->bytes() > static_cast<size_t>(state_.limits->max_answer.value())) {
    Drop(Trouble::kTooLong);
  } else if (!memory_.Hold(stream_->memory())) {
    Drop(Trouble::kNoRoom);
  } else {
    return stream_->has_long() ? Written::kPart : Written::kAll;
  }
  return Written::kGone;
}

void GatheringClient::Drop(Trouble trouble) {
  trouble_ = trouble;
  stream_.reset();
  memory_.Hold(0);
}

asio::awaitable<bool> GatheringClient::FinishEvents() {
  Written so_far = stream_ ? Written::kPart : Written::kGone;
  while (so_far == Written::kPart && stream_->has_long()) {
    const absl::Status taken = co_await stream_->TakeLong(state_.loop.io());
    so_far = Judge(taken);
  }
  co_return so_far != Written::kGone && !client().gone();
}

asio::awaitable<bool> GatheringClient::End() {
  if (trouble_ != Trouble::kNone) co_return false;
  if (!stream_) co_return co_await client().End();
  // The answer that is written lives beside what it is made of.
  if (!memory_.Hold(2 * stream_->memory())) {
    Drop(Trouble::kNoRoom);
    co_return false;
  }
  absl::StatusOr<TextParts> answer = co_await stream_->Finish(state_.loop.io());
  if (!answer.ok()) {
    Judge(answer.status());
    co_return false;
  }
  stream_.reset();
  memory_.Hold(answer->size());
  if (client().gone()) co_return false;
  const bool sent = co_await Send(*std::move(answer));
  if (sent) on_sent_();
  co_return sent;
}

asio::awaitable<bool> GatheringClient::Send(TextParts answer) {
  HeaderList headers;
  for (const auto [name, value] : headers_()) {
    // Engines forbid to keep a stream.
    if (!absl::EqualsIgnoreCase(name, "cache-control")) headers.Add(name, value);
  }
  if (answer.parts().size() == 1) {
    co_return co_await SendWhole(client(), http_status::kOk, kGatheredType, headers, answer.parts().front());
  }
  client().BeginWhole(kGatheredType, headers, answer.size());
  for (std::string& part : answer.parts()) {
    const bool alive = co_await SendPart(client(), part);
    if (!alive) co_return false;
    std::string().swap(part);
    co_await LetOthersRun(state_.loop.io());
  }
  co_return co_await client().End();
}

asio::awaitable<bool> GatheringClient::Error(const ApiError& error) {
  Drop(trouble_);
  return client().Error(error);
}

void GatheringClient::Forget() {
  Drop(Trouble::kNone);
  fault_.clear();
}

std::string GatheringClient::unfit() const {
  switch (trouble_) {
    case Trouble::kNone:
      break;
    case Trouble::kUnfit:
      return fault_;
    case Trouble::kTooLong:
      return std::string(kTooLongText);
    case Trouble::kNoRoom:
      return "The router has no memory for the answer.";
  }
  return client().unfit();
}

std::optional<AttemptEnd> GatheringClient::Failure() const {
  if (client().gone()) return std::nullopt;
  if (trouble_ == Trouble::kUnfit) {
    AttemptEnd end = EngineFailed(EngineErrorKind::kGarbage, fault_);
    end.orderly = true;
    return end;
  }
  if (trouble_ == Trouble::kTooLong) return AnswerTooLong(kTooLongText);
  if (trouble_ == Trouble::kNoRoom) return NoRoomForAnswer(state_);
  return std::nullopt;
}

}  // namespace penstock
