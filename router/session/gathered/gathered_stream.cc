#include "router/session/gathered/gathered_stream.h"

#include <string>
#include <tuple>
#include <utility>

#include "base/json_pieces.h"
#include "router/live/aside/run_aside.h"

namespace penstock {
namespace asio = boost::asio;

namespace {

absl::StatusOr<TextParts> AnswerOf(StreamAssembler& assembler) {
  absl::StatusOr<JsonPieces> pieces = assembler.Finish();
  if (!pieces.ok()) return pieces.status();
  TextParts answer;
  std::string part;
  for (bool more = true; more;) {
    part.clear();
    more = pieces->Write(TextParts::kPart, &part);
    answer.Add(part);
  }
  return answer;
}

}  // namespace

absl::Status GatheredStream::Take(const std::vector<absl::string_view>& pieces) {
  for (const absl::string_view piece : pieces) splitter_.Feed(piece);
  return TakeEvents();
}

absl::Status GatheredStream::TakeEvents() {
  while (const auto event = splitter_.Next()) {
    if (event->comment) continue;
    if (event->data.size() > SseSplitter::kLong) {
      long_ = event;
      break;
    }
    if (absl::Status added = assembler_->Add(event->data); !added.ok()) return added;
  }
  return absl::OkStatus();
}

asio::awaitable<absl::Status> GatheredStream::TakeLong(asio::io_context& loop) {
  const absl::string_view data = std::exchange(long_, std::nullopt)->data;
  const size_t size = data.size();
  auto work = [assembler = std::move(assembler_), memory = splitter_.Lend(), data]() mutable {
    absl::Status added = assembler->Add(data);
    return std::tuple(std::move(assembler), std::move(memory), std::move(added));
  };
  auto [assembler, memory, added] = co_await RunAside(loop, size, std::move(work));
  assembler_ = std::move(assembler);
  splitter_.Return(std::move(memory));
  if (!added.ok()) co_return added;
  co_return TakeEvents();
}

asio::awaitable<absl::StatusOr<TextParts>> GatheredStream::Finish(asio::io_context& loop) {
  const size_t size = assembler_->bytes();
  if (size < kWorthRunningAside) co_return AnswerOf(*assembler_);
  auto work = [assembler = std::move(assembler_)] { return AnswerOf(*assembler); };
  auto answer = co_await RunAside(loop, size, std::move(work));
  co_return answer;
}

}  // namespace penstock
