#include "router/http/http1_answer.h"

#include <array>
#include <atomic>
#include <span>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"

namespace penstock {
namespace asio = boost::asio;

namespace {

asio::const_buffer AsBuffer(absl::string_view text) { return asio::const_buffer(text.data(), text.size()); }

absl::string_view AsText(const asio::const_buffer& bytes) {
  return absl::string_view(static_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace

Http1Answer::Http1Answer(EventLoop& loop, ClientConnection& connection, const RequestHead& request)
    : Answer(loop, request), loop_(loop), connection_(connection), keep_alive_(request.keep_alive) {}

bool Http1Answer::MustClose() const {
  return connection_.upload().BlocksNext() || loop_.edge().draining.load(std::memory_order_relaxed);
}

bool Http1Answer::CanTakeAnother() const { return keep_alive_ && ended_; }

ResponseHead Http1Answer::HeadOf(int status, absl::string_view content_type, const HeaderList& headers) const {
  ResponseHead head(status, keep_alive_, form().http10);
  FillHead(head, content_type, headers);
  return head;
}

Written Http1Answer::Whole(int status, absl::string_view content_type, const HeaderList& headers,
                           absl::string_view body) {
  if (MustClose()) keep_alive_ = false;
  const std::string text = HeadOf(status, content_type, headers).WithLength(body.size());
  head_sent_ = ended_ = whole_ = true;
  status_ = status;
  return WriteBoth(text, form().head_only ? absl::string_view() : body);
}

Written Http1Answer::WriteBoth(const std::string& first, absl::string_view second) {
  if (first.empty() && second.empty()) return connection_.gone() ? Written::kGone : Written::kAll;
  std::array<asio::const_buffer, 2> buffers = {AsBuffer(first), AsBuffer(second)};
  std::span<asio::const_buffer> left(buffers.data(), second.empty() ? 1 : 2);
  const Written written = connection_.WriteNow(left, Push::kWithTurn);
  if (written == Written::kPart) {
    const bool in_first = left.data() == buffers.data();
    if (in_first) unsent_ = std::string(AsText(left.front()));
    if (!in_first || left.size() > 1) unsent_body_ = AsText(left.back());
  }
  return written;
}

asio::awaitable<LentSocket> Http1Answer::Switch(const HeaderList& headers) {
  keep_alive_ = false;
  head_sent_ = ended_ = true;
  status_ = http_status::kSwitchingProtocols;
  const std::string head = HeadOf(status_, "", headers).Switching();
  std::vector<asio::const_buffer> buffers(1, AsBuffer(head));
  const bool written = co_await connection_.Write(std::move(buffers));
  co_return written ? connection_.Lend() : LentSocket{};
}

void Http1Answer::BeginWhole(absl::string_view content_type, const HeaderList& headers,
                             std::optional<uint64_t> length) {
  chunks_ = !length && !form().http10;
  const bool until_close = !length && form().http10;
  if (until_close || MustClose()) keep_alive_ = false;
  ResponseHead head = HeadOf(whole_status_, content_type, headers);
  unsent_ = length ? std::move(head).WithLength(*length) : std::move(head).Chunked();
  whole_ = true;
}

Written Http1Answer::Part(absl::string_view bytes) {
  std::string before = std::exchange(unsent_, std::string());
  if (form().head_only) {
    head_sent_ = true;
    status_ = whole_status_;
    return WriteBoth(before, absl::string_view());
  }
  if (chunks_) absl::StrAppend(&before, head_sent_ ? "\r\n" : "", absl::Hex(bytes.size()), "\r\n");
  head_sent_ = true;
  status_ = whole_status_;
  if (!before.empty()) return WriteBoth(before, bytes);
  std::array<asio::const_buffer, 1> buffers = {AsBuffer(bytes)};
  std::span<asio::const_buffer> left(buffers);
  const Written written = connection_.WriteNow(left);
  if (written == Written::kPart) unsent_body_ = AsText(left.front());
  return written;
}

asio::awaitable<bool> Http1Answer::FinishWhole() {
  std::vector<asio::const_buffer> rest;
  if (!unsent_.empty()) rest.push_back(AsBuffer(unsent_));
  if (!unsent_body_.empty()) rest.push_back(AsBuffer(unsent_body_));
  const bool alive = co_await connection_.Write(std::move(rest));
  std::string().swap(unsent_);
  unsent_body_ = absl::string_view();
  co_return alive;
}

bool Http1Answer::BreakOff() {
  std::string().swap(unsent_);
  unsent_events_.clear();
  if (!whole_ || !head_sent_) return false;
  ended_ = false;
  return true;
}

std::string Http1Answer::StreamHead(const HeaderList& headers) {
  if (form().http10 || loop_.edge().draining.load(std::memory_order_relaxed)) keep_alive_ = false;
  ResponseHead head(http_status::kOk, keep_alive_, form().http10);
  FillStreamHead(head, headers);
  head_sent_ = true;
  status_ = http_status::kOk;
  return std::move(head).Chunked();
}

Written Http1Answer::Events(const HeaderList& headers, const std::vector<absl::string_view>& pieces) {
  std::string head = head_sent_ ? "" : StreamHead(headers);
  if (form().head_only) {
    const Written written = WriteBoth(head, absl::string_view());
    writing_ = written == Written::kPart;
    return written;
  }
  size_t size = 0;
  for (absl::string_view piece : pieces) size += piece.size();
  absl::InlinedVector<asio::const_buffer, 6> buffers;
  if (!form().http10) absl::StrAppend(&head, absl::Hex(size), "\r\n");
  buffers.push_back(AsBuffer(head));
  for (absl::string_view piece : pieces) buffers.push_back(AsBuffer(piece));
  if (!form().http10) buffers.push_back(AsBuffer("\r\n"));
  std::span<asio::const_buffer> left(buffers.data(), buffers.size());
  const Written written = connection_.WriteNow(left);
  if (written == Written::kPart) {
    writing_ = true;
    unsent_events_.assign(left.begin(), left.end());
    if (left.size() == buffers.size()) {
      unsent_ = std::string(AsText(left.front()));
      unsent_events_.front() = AsBuffer(unsent_);
    }
  }
  return written;
}

asio::awaitable<bool> Http1Answer::FinishEvents() {
  std::vector<asio::const_buffer> rest = std::move(unsent_events_);
  unsent_events_.clear();
  if (rest.empty()) rest.push_back(AsBuffer(unsent_));
  const bool alive = co_await connection_.Write(std::move(rest));
  std::string().swap(unsent_);
  writing_ = false;
  co_return alive;
}

asio::awaitable<bool> Http1Answer::End() {
  ended_ = true;
  if (form().head_only || form().http10 || (whole_ && !chunks_)) co_return !connection_.gone();
  // The line end behind the last part of a whole answer is due.
  const absl::string_view end = whole_ ? "\r\n0\r\n\r\n" : "0\r\n\r\n";
  std::vector<asio::const_buffer> last_chunk(1, AsBuffer(end));
  co_return co_await connection_.Write(std::move(last_chunk));
}

void Http1Answer::KeepAlive(const HeaderList& headers) {
  if (writing_ || ended_ || connection_.gone()) return;
  const absl::string_view sign = SignOfLife();
  const bool first = !head_sent_;
  std::string bytes = first ? StreamHead(headers) : "";
  if (form().head_only) {
    if (!first) return;
  } else if (form().http10) {
    absl::StrAppend(&bytes, sign);
  } else {
    absl::StrAppend(&bytes, absl::Hex(sign.size()), "\r\n", sign, "\r\n");
  }
  if (!connection_.WriteSmall(bytes) && first) head_sent_ = false;
}

}  // namespace penstock
