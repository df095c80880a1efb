#include "router/http/http2/stream_answer.h"

#include "absl/strings/str_cat.h"
#include "router/openai/error/http_status.h"

namespace penstock::http2 {
namespace asio = boost::asio;

namespace {

// A last piece of events that is longer is not copied.
constexpr size_t kLongPiece = 16 << 10;

}  // namespace

void StreamAnswer::Begin(int status, const AnswerHead& head, bool ended) {
  status_ = status;
  stream_.SendHead(status, head.fields(), ended || form().head_only);
}

Written StreamAnswer::Whole(int status, absl::string_view content_type, const HeaderList& headers,
                            absl::string_view body) {
  AnswerHead head;
  FillHead(head, content_type, headers);
  if (status != http_status::kNoContent) head.Add("content-length", absl::StrCat(body.size()));
  ended_ = whole_ = true;
  Begin(status, head, body.empty());
  if (!form().head_only) stream_.output().Refer(body);
  stream_.output().End();
  return stream_.Send();
}

void StreamAnswer::BeginWhole(absl::string_view content_type, const HeaderList& headers,
                              std::optional<uint64_t> length) {
  held_.emplace();
  FillHead(*held_, content_type, headers);
  if (length) held_->Add("content-length", absl::StrCat(*length));
  whole_ = true;
}

Written StreamAnswer::Part(absl::string_view bytes) {
  if (held_) Begin(whole_status_, *held_, /*ended=*/false);
  held_.reset();
  if (!form().head_only) stream_.output().Refer(bytes);
  return stream_.Send();
}

void StreamAnswer::BeginStream(const HeaderList& headers) {
  if (begun()) return;
  AnswerHead head;
  FillStreamHead(head, headers);
  Begin(http_status::kOk, head, /*ended=*/false);
}

Written StreamAnswer::Events(const HeaderList& headers, const std::vector<absl::string_view>& pieces) {
  BeginStream(headers);
  if (!form().head_only) {
    for (size_t i = 0; i < pieces.size(); ++i) {
      const bool refers = i + 1 == pieces.size() && pieces[i].size() > kLongPiece;
      refers ? stream_.output().Refer(pieces[i]) : stream_.output().Append(pieces[i]);
    }
  }
  return stream_.Send();
}

asio::awaitable<bool> StreamAnswer::End() {
  ended_ = true;
  if (held_) Begin(whole_status_, *held_, /*ended=*/true);
  held_.reset();
  stream_.output().End();
  stream_.Send();
  co_return !gone();
}

bool StreamAnswer::BreakOff() {
  held_.reset();
  if (!whole_ || !begun()) return false;
  ended_ = false;
  stream_.output().Clear();
  return true;
}

void StreamAnswer::KeepAlive(const HeaderList& headers) {
  if (ended_ || gone() || !stream_.output().empty()) return;
  const bool first = !begun();
  BeginStream(headers);
  if (form().head_only && !first) return;
  if (!form().head_only) stream_.output().Append(SignOfLife());
  stream_.Send();
}

}  // namespace penstock::http2
