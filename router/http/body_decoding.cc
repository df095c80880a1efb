#include "router/http/body_decoding.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "router/live/loop_turn.h"
#include "router/openai/request/body_decoder.h"
#include "router/openai/request/header_rules.h"
#include "router/session/client/attended.h"

namespace penstock {
namespace asio = boost::asio;

namespace {

constexpr size_t kFirstBlock = size_t{64} << 10;

// Makes room for `more` bytes in blocks that double. False: the budget has no memory for them.
bool Grow(BodyBuffer& body, size_t more, FairShare& memory, const LimitsConfig& limits) {
  const size_t size = body.size() + more;
  if (size <= body.capacity()) return true;
  const size_t most = std::max(size, static_cast<size_t>(limits.max_body.value()));
  const size_t wanted = std::min(std::max({size, kFirstBlock, 2 * body.capacity()}), most);
  if (!memory.GrowTo(Bytes(static_cast<int64_t>(wanted)), limits.max_body_memory)) return false;
  body.Reserve(wanted);
  return true;
}

}  // namespace

asio::awaitable<std::optional<ApiError>> DecodeBody(EventLoop& loop, Client& client, uint64_t caller,
                                                    ClientRequest& request) {
  const absl::string_view named = FindHeader(request.headers, "content-encoding");
  const ContentCoding coding = CodingOf(named);
  if (coding == ContentCoding::kNone) co_return std::nullopt;
  if (coding == ContentCoding::kUnknown) co_return UnknownEncoding(named);
  const LimitsConfig limits = loop.fleet()->config().limits;
  BodyDecoder decoder(coding, request.body.view());
  FairShare memory(&loop.edge().bodies, caller);
  FairShare work(&loop.edge().bodies, caller);
  const auto window = static_cast<int64_t>(BodyDecoder::MostMemory(coding));
  if (window > 0 && !work.GrowTo(Bytes(window), limits.max_body_memory)) co_return NoBodyMemory();
  BodyBuffer body;
  const Attended attended(client);
  auto progress = BodyDecoder::Progress::kMore;
  while (progress == BodyDecoder::Progress::kMore && !attended.gone()) {
    size_t made = 0;
    progress = decoder.Advance(loop.scratch().data(), loop.scratch().size(), made);
    if (static_cast<int64_t>(body.size() + made) > limits.max_body.value()) {
      co_return MakeError(ErrorName::kBodyTooLarge,
                          absl::StrCat("The decoded body is larger than ", limits.max_body.value(), " bytes."));
    }
    if (!Grow(body, made, memory, limits)) co_return NoBodyMemory();
    if (made > 0) body.Append(absl::string_view(loop.scratch().data(), made));
    if (progress == BodyDecoder::Progress::kMore) co_await LetOthersRun(loop.io());
  }
  if (attended.gone()) co_return std::nullopt;
  if (progress == BodyDecoder::Progress::kBroken) {
    co_return MakeError(ErrorName::kBrokenEncoding, absl::StrCat("The body is not valid ", named.substr(0, 100), "."));
  }
  request.body = std::move(body);
  request.memory = std::move(memory);
  co_return std::nullopt;
}

ApiError UnknownEncoding(absl::string_view content_encoding) {
  return MakeError(ErrorName::kContentEncoding, absl::StrCat("The content encoding must be gzip, deflate or zstd, not ",
                                                             content_encoding.substr(0, 100), "."));
}

}  // namespace penstock
