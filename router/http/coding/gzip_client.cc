#include "router/http/coding/gzip_client.h"

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"

namespace penstock {
namespace asio = boost::asio;

namespace {

bool IsJsonType(absl::string_view content_type) {
  const absl::string_view type = absl::StripAsciiWhitespace(content_type.substr(0, content_type.find(';')));
  return absl::EqualsIgnoreCase(type, "application/json");
}

bool IsZero(absl::string_view weight) {
  return !weight.empty() && weight.find_first_not_of("0.") == absl::string_view::npos;
}

HeaderList Coded(const HeaderList& headers) {
  HeaderList coded = headers;
  coded.Add("content-encoding", "gzip");
  coded.Add("vary", "Accept-Encoding");
  return coded;
}

}  // namespace

bool AcceptsGzip(absl::string_view accept_encoding) {
  bool any = false;
  for (const absl::string_view entry : absl::StrSplit(accept_encoding, ',')) {
    const absl::string_view name = absl::StripAsciiWhitespace(entry.substr(0, entry.find(';')));
    const size_t weight = entry.find("q=");
    const bool refused =
        weight != absl::string_view::npos && IsZero(absl::StripAsciiWhitespace(entry.substr(weight + 2)));
    if (absl::EqualsIgnoreCase(name, "gzip") || absl::EqualsIgnoreCase(name, "x-gzip")) return !refused;
    if (name == "*") any = !refused;
  }
  return any;
}

bool GzipClient::Compresses(absl::string_view content_type, const HeaderList& headers, std::optional<uint64_t> length) {
  if (!IsJsonType(content_type) || (length && *length < above_)) return false;
  if (!FindHeader(headers, "content-encoding").empty()) return false;
  encoder_.emplace();
  if (!encoder_->ready()) encoder_.reset();
  return encoder_.has_value();
}

Written GzipClient::Whole(int status, absl::string_view content_type, const HeaderList& headers,
                          absl::string_view body) {
  if (!Compresses(content_type, headers, body.size())) return client().Whole(status, content_type, headers, body);
  held_ = Held{status, std::string(content_type), Coded(headers)};
  input_ = body;
  return Written::kPart;
}

void GzipClient::BeginWhole(absl::string_view content_type, const HeaderList& headers, std::optional<uint64_t> length) {
  if (!Compresses(content_type, headers, length)) return client().BeginWhole(content_type, headers, length);
  const HeaderList coded = Coded(headers);
  client().BeginWhole(content_type, coded, std::nullopt);
}

Written GzipClient::Part(absl::string_view bytes) {
  if (!encoder_) return client().Part(bytes);
  input_ = bytes;
  return Written::kPart;
}

asio::awaitable<void> GzipClient::Compress() {
  while (!input_.empty() && !client().gone()) {
    encoder_->Add(input_, out_);
    co_await asio::post(loop_, asio::use_awaitable);
  }
}

asio::awaitable<bool> GzipClient::SendRest() {
  if (out_.empty()) co_return !client().gone();
  const bool alive = co_await SendPart(client(), out_);
  out_.clear();
  co_return alive;
}

asio::awaitable<bool> GzipClient::FinishWhole() {
  if (!encoder_) co_return co_await client().FinishWhole();
  co_await Compress();
  if (!held_) co_return co_await SendRest();
  encoder_->Finish(out_);
  encoder_.reset();
  const Held held = *std::move(held_);
  held_.reset();
  const bool alive = co_await SendWhole(client(), held.status, held.content_type, held.headers, out_);
  std::string().swap(out_);
  co_return alive;
}

asio::awaitable<bool> GzipClient::End() {
  if (encoder_) {
    encoder_->Finish(out_);
    encoder_.reset();
    const bool alive = co_await SendRest();
    if (!alive) co_return false;
  }
  co_return co_await client().End();
}

asio::awaitable<bool> GzipClient::Error(const ApiError& error) {
  encoder_.reset();
  held_.reset();
  input_ = absl::string_view();
  return client().Error(error);
}

}  // namespace penstock
