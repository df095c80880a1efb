#include "router/http/coding/gzip_client.h"

#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "router/live/loop_turn.h"

namespace penstock {
namespace asio = boost::asio;

namespace {

constexpr int kMostEntries = 32;  // Entries of Accept-Encoding that are read.

bool IsJsonType(absl::string_view content_type) {
  if (content_type == "application/json") return true;
  const absl::string_view type = absl::StripAsciiWhitespace(content_type.substr(0, content_type.find(';')));
  return absl::EqualsIgnoreCase(type, "application/json");
}

bool IsZero(absl::string_view weight) {
  return !weight.empty() && weight.find_first_not_of("0.") == absl::string_view::npos;
}

// The coding has the weight zero, as in `gzip; q = 0`.
bool IsRefused(absl::string_view entry) {
  if (!absl::StrContains(entry, ';')) return false;
  const std::vector<absl::string_view> parameters = absl::StrSplit(entry, ';');
  for (size_t i = 1; i < parameters.size(); ++i) {
    const size_t equals = parameters[i].find('=');
    if (equals == absl::string_view::npos) continue;
    const absl::string_view name = absl::StripAsciiWhitespace(parameters[i].substr(0, equals));
    if (absl::EqualsIgnoreCase(name, "q")) return IsZero(absl::StripAsciiWhitespace(parameters[i].substr(equals + 1)));
  }
  return false;
}

// A compressed answer would belie them.
bool SpeaksOfBytes(absl::string_view name) {
  for (const char* one :
       {"content-encoding", "content-range", "content-md5", "content-digest", "repr-digest", "digest"}) {
    if (absl::EqualsIgnoreCase(name, one)) return true;
  }
  return false;
}

bool MayBeCoded(const HeaderList& headers) {
  for (const auto [name, value] : headers) {
    if (SpeaksOfBytes(name)) return false;
    if (absl::EqualsIgnoreCase(name, "cache-control") &&
        absl::StrContains(absl::AsciiStrToLower(value), "no-transform")) {
      return false;
    }
  }
  return true;
}

bool Varies(absl::string_view vary) {
  for (const absl::string_view entry : absl::StrSplit(vary, ',')) {
    const absl::string_view name = absl::StripAsciiWhitespace(entry);
    if (name == "*" || absl::EqualsIgnoreCase(name, "accept-encoding")) return true;
  }
  return false;
}

HeaderList Varying(const HeaderList& headers) {
  constexpr absl::string_view kName = "vary";
  constexpr absl::string_view kValue = "Accept-Encoding";
  HeaderList varying;
  varying.Reserve(headers.size() + 1, headers.bytes() + kName.size() + kValue.size());
  bool varies = false;
  for (const auto [name, value] : headers) {
    varying.Add(name, value);
    varies |= absl::EqualsIgnoreCase(name, kName) && Varies(value);
  }
  if (!varies) varying.Add(kName, kValue);
  return varying;
}

// Other bytes: an entity tag stands for the same meaning only.
HeaderList Coded(const HeaderList& headers) {
  HeaderList coded;
  for (const auto [name, value] : headers) {
    const bool strong = absl::EqualsIgnoreCase(name, "etag") && !absl::StartsWith(value, "W/");
    coded.Add(name, strong ? absl::StrCat("W/", value) : std::string(value));
  }
  coded.Add("content-encoding", "gzip");
  return Varying(coded);
}

}  // namespace

bool AcceptsGzip(absl::string_view accept_encoding) {
  if (accept_encoding.empty()) return false;
  bool any = false;
  int looked = 0;
  for (const absl::string_view entry : absl::StrSplit(accept_encoding, ',')) {
    if (++looked > kMostEntries) break;
    const absl::string_view name = absl::StripAsciiWhitespace(entry.substr(0, entry.find(';')));
    const bool refused = IsRefused(entry);
    if (absl::EqualsIgnoreCase(name, "gzip") || absl::EqualsIgnoreCase(name, "x-gzip")) return !refused;
    if (name == "*") any = !refused;
  }
  return any;
}

bool GzipClient::Compresses(uint64_t length, const HeaderList& headers) {
  if (!takes_gzip_ || length < above_ || !MayBeCoded(headers)) return false;
  encoder_.emplace();
  if (!encoder_->ready()) encoder_.reset();
  return encoder_.has_value();
}

Written GzipClient::Whole(int status, absl::string_view content_type, const HeaderList& headers,
                          absl::string_view body) {
  if (status != http_status::kOk || !IsJsonType(content_type)) {
    return client().Whole(status, content_type, headers, body);
  }
  if (!Compresses(body.size(), headers)) return client().Whole(status, content_type, Varying(headers), body);
  held_ = std::make_unique<const Held>(Held{status, std::string(content_type), Coded(headers)});
  input_ = body;
  return Written::kPart;
}

void GzipClient::SetStatus(int status) {
  status_ = status;
  client().SetStatus(status);
}

void GzipClient::BeginWhole(absl::string_view content_type, const HeaderList& headers, std::optional<uint64_t> length) {
  if (status_ != http_status::kOk || !IsJsonType(content_type))
    return client().BeginWhole(content_type, headers, length);
  // Pieces of an answer without a length would wait in the encoder.
  if (!length || !Compresses(*length, headers)) return client().BeginWhole(content_type, Varying(headers), length);
  client().BeginWhole(content_type, Coded(headers), std::nullopt);
}

Written GzipClient::Part(absl::string_view bytes) {
  if (!encoder_) return client().Part(bytes);
  input_ = bytes;
  return Written::kPart;
}

asio::awaitable<void> GzipClient::Compress() {
  while (!input_.empty() && !client().gone()) {
    encoder_->Add(input_, out_);
    co_await LetOthersRun(loop_);
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
  const std::unique_ptr<const Held> held = std::move(held_);
  const bool alive = co_await SendWhole(client(), held->status, held->content_type, held->headers, out_);
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
