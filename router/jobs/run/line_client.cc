#include "router/jobs/run/line_client.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "router/labels/labels.h"

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

}  // namespace

void LineClient::Leave() {
  left_ = true;
  Go();
}

void LineClient::Go() {
  if (auto on_gone = std::exchange(on_gone_, nullptr)) on_gone();
}

bool LineClient::Fits(size_t more) {
  too_long_ = too_long_ || body_.size() + more > kMost;
  return !too_long_;
}

Written LineClient::Whole(int status, absl::string_view, const HeaderList&, absl::string_view body) {
  status_ = status;
  ended_ = true;
  if (!Fits(body.size())) return Written::kGone;
  body_.assign(body.data(), body.size());
  return left_ ? Written::kGone : Written::kAll;
}

void LineClient::BeginWhole(absl::string_view, const HeaderList&, std::optional<uint64_t> length) {
  status_ = http_status::kOk;
  if (length && *length < kMost) body_.reserve(*length);
}

Written LineClient::Part(absl::string_view bytes) {
  if (gone() || !Fits(bytes.size())) return Written::kGone;
  body_.append(bytes.data(), bytes.size());
  return Written::kAll;
}

Written LineClient::Events(const HeaderList&, const std::vector<absl::string_view>& pieces) {
  status_ = http_status::kOk;
  if (gone()) return Written::kGone;
  if (!splitter_) {
    splitter_.emplace();
    assembler_.emplace(endpoint_);
  }
  for (const absl::string_view piece : pieces) splitter_->Feed(piece);
  while (const auto event = splitter_->Next()) {
    if (event->comment || !unfit_.empty()) continue;
    if (const absl::Status added = assembler_->Add(event->data); !added.ok()) GiveUp(added.message());
  }
  too_long_ = too_long_ || assembler_->bytes() + splitter_->Rest().size() > kMost;
  return gone() || !unfit_.empty() ? Written::kGone : Written::kAll;
}

void LineClient::GiveUp(absl::string_view why) {
  unfit_ = absl::StrCat("The engine's stream makes no answer (", why, ").");
}

asio::awaitable<bool> LineClient::End() {
  ended_ = true;
  if (assembler_ && unfit_.empty()) {
    auto answer = assembler_->Finish();
    if (answer.ok()) {
      body_.clear();
      while (answer->Write(kMost, &body_)) continue;
    } else {
      GiveUp(answer.status().message());
    }
  }
  co_return !gone() && unfit_.empty();
}

void LineClient::Forget() {
  body_.clear();
  splitter_.reset();
  assembler_.reset();
  unfit_.clear();
  error_.reset();
  status_ = 0;
}

asio::awaitable<bool> LineClient::Error(const ApiError& error) {
  error_ = error;
  co_return !gone();
}

LineResult LineClient::result() const {
  LineResult result;
  if (left_) return result;
  if (too_long_) {
    result.status = TooLong().status;
  } else if (error_) {
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

std::string LineClient::TakeBody() {
  if (too_long_) return ErrorBody(TooLong());
  return error_ ? ErrorBody(*error_) : std::move(body_);
}

}  // namespace penstock::jobs
