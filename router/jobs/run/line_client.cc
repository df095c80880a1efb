#include "router/jobs/run/line_client.h"

#include <algorithm>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "config/values/builtin_classes.h"
#include "router/labels/labels.h"
#include "router/session/rules/attempt_end.h"

namespace penstock::jobs {
namespace asio = boost::asio;

namespace {

// An engine took the line and failed. One that could not be reached, or was full, did not.
bool IsEngineFault(absl::string_view reason) {
  for (const EngineErrorKind kind : {EngineErrorKind::kTimeout, EngineErrorKind::kClosed, EngineErrorKind::kGarbage,
                                     EngineErrorKind::kServer, EngineErrorKind::kOverflow, EngineErrorKind::kHung}) {
    if (reason == LabelOf(kind)) return true;
  }
  return false;
}

ApiError TooLong() {
  return MakeError(ErrorName::kUnsupportedField,
                   absl::StrCat("The answer is longer than ", LineClient::kMost >> 20, " MiB, the most of a line."));
}

// All lines get half of what others leave, and the session of the answer holds a part too.
bool NeverFits(size_t memory, Bytes budget) {
  const size_t taken = memory <= AnswerMemory::kFree ? 0 : std::max(memory, AnswerMemory::kBlock);
  return taken > static_cast<size_t>(budget.value()) / 3;
}

ApiError TooLarge() {
  return MakeError(ErrorName::kUnsupportedField, "The answer takes more than a third of limits.max_answer_memory.");
}

}  // namespace

LineClient::LineClient(EventLoop& loop, Bytes budget, Endpoint endpoint)
    : loop_(loop.io()),
      edge_(loop.edge()),
      budget_(budget),
      endpoint_(endpoint),
      memory_(std::make_unique<AnswerMemory>(loop.edge(), budget, absl::HashOf(absl::string_view(kJobsClass)))) {}

void LineClient::Leave() {
  left_ = true;
  Go();
}

void LineClient::Go() {
  if (auto on_gone = std::exchange(on_gone_, nullptr)) on_gone();
}

bool LineClient::Holds(size_t bytes, size_t memory) {
  if (given_up_) return false;
  if (bytes > kMost) {
    GiveUp(TooLong());
  } else if (NeverFits(memory, budget_)) {
    GiveUp(TooLarge());
  } else if (!memory_->Hold(memory)) {
    edge_.telemetry->OnTurnedAway(TurnedAway::kAnswerMemory);
    GiveUp(*NoAnswerMemory().error);
  }
  return !given_up_;
}

void LineClient::GiveUp(ApiError error) {
  given_up_ = true;
  error_ = std::move(error);
  body_ = TextParts();
  stream_.reset();
  memory_->Hold(0);
}

Written LineClient::Whole(int status, absl::string_view, const HeaderList&, absl::string_view body) {
  status_ = status;
  ended_ = true;
  if (!Holds(body.size(), body.size())) return Written::kGone;
  body_ = TextParts(std::string(body));
  return left_ ? Written::kGone : Written::kAll;
}

void LineClient::BeginWhole(absl::string_view, const HeaderList&, std::optional<uint64_t> length) {
  status_ = http_status::kOk;
  if (!length) return;
  if (*length > kMost) {
    GiveUp(TooLong());
  } else if (NeverFits(*length, budget_)) {
    GiveUp(TooLarge());
  }
}

Written LineClient::Part(absl::string_view bytes) {
  const size_t size = body_.size() + bytes.size();
  if (gone() || !Holds(size, size)) return Written::kGone;
  body_.Add(bytes);
  return Written::kAll;
}

Written LineClient::Events(const HeaderList&, const std::vector<absl::string_view>& pieces) {
  status_ = http_status::kOk;
  if (gone() || !unfit_.empty()) return Written::kGone;
  if (!stream_) stream_ = std::make_unique<GatheredStream>(endpoint_);
  const absl::Status taken = stream_->Take(pieces);
  return Judge(taken);
}

Written LineClient::Judge(const absl::Status& taken) {
  if (!taken.ok()) {
    unfit_ = absl::StrCat("The engine's stream makes no answer (", taken.message(), ").");
    stream_.reset();
    memory_->Hold(0);
  } else if (Holds(stream_->bytes(), stream_->memory()) && !left_) {
    return stream_->has_long() ? Written::kPart : Written::kAll;
  }
  return Written::kGone;
}

asio::awaitable<bool> LineClient::FinishEvents() {
  Written so_far = gone() ? Written::kGone : Written::kPart;
  while (so_far == Written::kPart && stream_ && stream_->has_long()) {
    const absl::Status taken = co_await stream_->TakeLong(loop_);
    so_far = Judge(taken);
  }
  co_return !gone() && unfit_.empty();
}

asio::awaitable<bool> LineClient::End() {
  ended_ = true;
  if (stream_ && !gone()) {
    absl::StatusOr<TextParts> answer = co_await stream_->Finish(loop_);
    stream_.reset();
    if (answer.ok()) {
      body_ = *std::move(answer);
      memory_->Hold(body_.size());
    } else {
      Judge(answer.status());
    }
  }
  co_return !gone() && unfit_.empty();
}

void LineClient::Forget() {
  if (given_up_) return;
  body_ = TextParts();
  stream_.reset();
  memory_->Hold(0);
  unfit_.clear();
  error_.reset();
  status_ = 0;
}

asio::awaitable<bool> LineClient::Error(const ApiError& error) {
  if (!given_up_) error_ = error;
  body_ = TextParts();
  stream_.reset();
  memory_->Hold(0);
  co_return !gone();
}

LineResult LineClient::result() const {
  LineResult result;
  if (left_) return result;
  if (error_) {
    result.status = error_->status;
    result.never_retry = error_->never_retry;
    result.engine_fault = IsEngineFault(error_->reason);
    result.unfit = !unfit_.empty();
    result.lacks_model = error_->reason == TraitsOf(Refusal::kUnknownModel).label;
    result.lacks_room = error_->reason == TraitsOf(Refusal::kContextExceeded).label ||
                        error_->reason == TraitsOf(Refusal::kNeverFits).label;
    result.retry_after = error_->retry_after;
  } else if (ended_) {
    result.status = status_;
  }
  return result;
}

TextParts LineClient::TakeBody() { return error_ ? TextParts(ErrorBody(*error_)) : std::move(body_); }

}  // namespace penstock::jobs
