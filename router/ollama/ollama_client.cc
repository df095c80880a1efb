#include "router/ollama/ollama_client.h"

#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/clock.h"
#include "router/http/pages/ollama_text.h"
#include "router/live/aside/run_aside.h"
#include "router/live/loop_turn.h"
#include "router/ollama/error_form.h"
#include "router/session/rules/attempt_end.h"

namespace penstock::ollama {
namespace asio = boost::asio;

namespace {

constexpr absl::string_view kLines = "application/x-ndjson";
constexpr absl::string_view kJson = "application/json; charset=utf-8";

}  // namespace

std::string WrittenNow() { return OllamaTime(absl::Now()); }

Written OllamaClient::Whole(int status, absl::string_view, const HeaderList& headers, absl::string_view body) {
  out_ = writer_->Whole(body, WrittenNow(), Now());
  if (writer_->unfit()) return Written::kGone;
  return client().Whole(status, kJson, headers, out_);
}

void OllamaClient::BeginWhole(absl::string_view, const HeaderList& headers, std::optional<uint64_t>) {
  headers_ = headers;
}

Written OllamaClient::Part(absl::string_view bytes) {
  if (client().gone()) return Written::kGone;
  if (trouble_ != Trouble::kNone) return Written::kAll;
  const size_t size = whole_.size() + bytes.size();
  // The object that is made of the bytes lives beside them.
  if (size > longest_) {
    Drop(Trouble::kTooLong);
  } else if (!memory_.Hold(2 * size)) {
    Drop(Trouble::kNoMemory);
  } else {
    whole_.Add(bytes);
  }
  return Written::kAll;
}

void OllamaClient::Drop(Trouble trouble) {
  trouble_ = trouble;
  whole_ = TextParts();
  memory_.Hold(0);
}

ApiError OllamaClient::ErrorOf(Trouble trouble) const {
  if (trouble == Trouble::kNoMemory) return *NoAnswerMemory().error;
  return EngineFailure(EngineErrorKind::kGarbage, "The engine's answer is too long for this dialect.");
}

void OllamaClient::Begin() {
  if (!std::exchange(begun_lines_, true)) client().BeginWhole(kLines, first_headers_, std::nullopt);
}

Written OllamaClient::Events(const HeaderList& headers, const std::vector<absl::string_view>& pieces) {
  // An event may make no line, so the headers of the first one wait.
  if (first_headers_.size() == 0) first_headers_ = headers;
  out_.clear();
  for (const absl::string_view piece : pieces) splitter_.Feed(piece);
  TakeEvents();
  return WriteLines();
}

void OllamaClient::TakeEvents() {
  const std::string when = WrittenNow();
  const Instant now = Now();
  while (const auto event = splitter_.Next()) {
    if (event->data.size() > SseSplitter::kLong) {
      long_ = event;
      return;
    }
    if (!event->comment) writer_->Event(event->data, when, now, out_);
  }
}

asio::awaitable<void> OllamaClient::TakeLongEvent() {
  const absl::string_view data = std::exchange(long_, std::nullopt)->data;
  // The work has a writer of its own, which goes on here behind it.
  auto work = [writer = *writer_, memory = splitter_.Lend(), data, when = WrittenNow(), now = Now()]() mutable {
    std::string lines;
    writer.Event(data, when, now, lines);
    return std::tuple(std::move(writer), std::move(memory), std::move(lines));
  };
  auto [writer, memory, lines] = co_await RunAside(loop_, data.size(), std::move(work));
  writer_.emplace(std::move(writer));
  splitter_.Return(std::move(memory));
  out_ = std::move(lines);
  TakeEvents();
}

Written OllamaClient::WriteLines() {
  if (client().gone() || writer_->unfit()) return Written::kGone;
  if (trouble_ == Trouble::kNone && writer_->too_long()) trouble_ = Trouble::kTooLong;
  if (trouble_ == Trouble::kNone && !memory_.Hold(2 * writer_->gathered())) {
    trouble_ = Trouble::kNoMemory;
    writer_->DropCalls();
  }
  Written written = Written::kAll;
  if (!out_.empty()) {
    Begin();
    written = client().Part(out_);
  }
  unwritten_ = written == Written::kPart;
  return long_ && written == Written::kAll ? Written::kPart : written;
}

asio::awaitable<bool> OllamaClient::FinishEvents() {
  bool alive = true;
  if (unwritten_) alive = co_await client().FinishWhole();
  while (alive && long_) {
    co_await TakeLongEvent();
    alive = WriteLines() != Written::kGone;
    if (alive && unwritten_) alive = co_await client().FinishWhole();
  }
  co_return alive;
}

asio::awaitable<bool> OllamaClient::EndGathered() {
  if (trouble_ == Trouble::kNone) co_await Translate();
  if (writer_->unfit()) co_return false;
  if (trouble_ == Trouble::kNone && writer_->too_long()) trouble_ = Trouble::kTooLong;
  if (trouble_ != Trouble::kNone) {
    const ApiError error = ErrorOf(trouble_);
    co_return co_await Error(error);
  }
  memory_.Hold(whole_.size());
  const HeaderList headers = *std::move(headers_);
  headers_.reset();
  if (whole_.parts().size() == 1) {
    co_return co_await SendWhole(client(), status_, kJson, headers, whole_.parts().front());
  }
  client().BeginWhole(kJson, headers, whole_.size());
  for (std::string& part : whole_.parts()) {
    const bool alive = co_await SendPart(client(), part);
    if (!alive) co_return false;
    std::string().swap(part);
    co_await LetOthersRun(loop_);
  }
  co_return co_await client().End();
}

asio::awaitable<void> OllamaClient::Translate() {
  const size_t bytes = whole_.size();
  // The work has a writer of its own, which goes on here behind it.
  auto work = [writer = *writer_, body = std::move(whole_), when = WrittenNow(), now = Now()]() mutable {
    TextParts made(writer.Whole(body.Join(), when, now));
    return std::pair(std::move(writer), std::move(made));
  };
  whole_ = TextParts();
  if (bytes < kWorthRunningAside) {
    auto [writer, made] = work();
    Take(std::move(writer), std::move(made));
  } else {
    auto [writer, made] = co_await RunAside(loop_, bytes, std::move(work));
    Take(std::move(writer), std::move(made));
  }
}

void OllamaClient::Take(AnswerWriter writer, TextParts made) {
  writer_.emplace(std::move(writer));
  whole_ = std::move(made);
}

std::string OllamaClient::unfit() const {
  return writer_->unfit() ? "The engine's answer has content or calls of tools that this dialect cannot say." : "";
}

asio::awaitable<bool> OllamaClient::End() {
  if (headers_) co_return co_await EndGathered();
  if (writer_->unfit()) co_return false;
  if (trouble_ != Trouble::kNone) {
    const ApiError error = ErrorOf(trouble_);
    co_return co_await Error(error);
  }
  out_.clear();
  writer_->End(WrittenNow(), Now(), out_);
  Begin();
  const bool alive = co_await SendPart(client(), out_);
  if (!alive) co_return false;
  co_return co_await client().End();
}

asio::awaitable<bool> OllamaClient::Error(const ApiError& error) {
  headers_.reset();
  // Only lines may be followed by one. A whole answer of a known length breaks off.
  if (!begun_lines_) co_return co_await client().Error(error);
  out_ = OllamaErrorBody(error) + "\n";
  const bool alive = co_await SendPart(client(), out_);
  if (!alive) co_return false;
  co_return co_await client().End();
}

}  // namespace penstock::ollama
