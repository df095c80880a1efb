#include "router/http/http2/head_builder.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace penstock::http2 {
namespace {

constexpr absl::string_view kHost = "host";
// Values of these decide about the body and the caller.
constexpr std::array<absl::string_view, 5> kOnce = {kHost, "content-type", "content-encoding", "authorization",
                                                    "x-api-key"};

// A refusal reads these fields of a head. Longer values stay out.
constexpr std::array<absl::string_view, 4> kOfRefusals = {"origin", "x-forwarded-for", "x-request-id",
                                                          "x-client-request-id"};
constexpr size_t kLongestOfRefusals = 256;

ApiError Malformed(absl::string_view fault) {
  return MakeError(ErrorName::kMalformedRequest, absl::StrCat("Not a well-formed HTTP/2 request: ", fault, "."));
}

// Its value may be empty.
bool Has(const HeaderList& headers, absl::string_view name) {
  for (const auto [known, value] : headers) {
    if (known == name) return true;
  }
  return false;
}

}  // namespace

void HeadBuilder::Fail(ApiError error) {
  if (!error_) error_ = std::move(error);
}

void HeadBuilder::FailField() { Fail(Malformed("a field has a byte that HTTP/2 forbids")); }

bool HeadBuilder::Count(absl::string_view name, absl::string_view value) {
  bytes_ += name.size() + value.size() + 4;
  if (++fields_ > RequestHeadParser::kMaxFields) {
    Fail(MakeError(ErrorName::kHeaderTooLarge,
                   absl::StrCat("The request head has more than ", RequestHeadParser::kMaxFields, " fields.")));
  } else if (bytes_ > max_bytes_) {
    Fail(
        MakeError(ErrorName::kHeaderTooLarge, absl::StrCat("The request head is larger than ", max_bytes_, " bytes.")));
  }
  return !error_;
}

void HeadBuilder::Add(absl::string_view name, absl::string_view value) {
  if (absl::StartsWith(name, ":")) {
    --fields_;  // HTTP/1.1 has them in its first line.
    if (Count(name, value)) AddPseudo(name, value);
    return;
  }
  if (!Count(name, value)) return;
  if (Doubtful(name)) return Fail(Malformed(absl::StrCat("two fields ", name)));
  if (name == "cookie") {
    absl::StrAppend(&cookies_, cookies_.empty() ? "" : "; ", value);
    return;
  }
  uint64_t length = 0;
  if (name == "content-length" && absl::SimpleAtoi(value, &length)) head_.length = length;
  if (name == "expect") head_.expects_continue = absl::EqualsIgnoreCase(value, "100-continue");
  head_.headers.Add(name, value);
}

void HeadBuilder::AddTrailer(absl::string_view name, absl::string_view value) { (void)Count(name, value); }

void HeadBuilder::AddPseudo(absl::string_view name, absl::string_view value) {
  if (name == ":method") head_.method = std::string(value);
  if (name == ":path") head_.target = std::string(value);
  if (name == ":authority") authority_ = std::string(value);
}

bool HeadBuilder::Doubtful(absl::string_view name) {
  return std::find(kOnce.begin(), kOnce.end(), name) != kOnce.end() && Has(head_.headers, name);
}

void HeadBuilder::End() {
  if (!cookies_.empty()) head_.headers.Add("cookie", cookies_);
  std::string().swap(cookies_);
  const std::string authority = std::exchange(authority_, std::string());
  if (error_ || authority.empty()) return;
  if (!Has(head_.headers, kHost)) {
    head_.headers.Add(kHost, authority);
  } else if (!absl::EqualsIgnoreCase(FindHeader(head_.headers, kHost), authority)) {
    Fail(Malformed("host and :authority differ"));
  }
  if (head_.target.empty()) head_.target = authority;  // CONNECT has no path.
}

void HeadBuilder::Shorten() {
  RequestHead kept;
  kept.method = head_.method.substr(0, kLongestOfRefusals);
  kept.target = head_.target.substr(0, kLongestOfRefusals);
  for (const absl::string_view name : kOfRefusals) {
    const absl::string_view value = FindHeader(head_.headers, name);
    if (!value.empty() && value.size() <= kLongestOfRefusals) kept.headers.Add(name, value);
  }
  head_ = std::move(kept);
  std::string().swap(authority_);
  std::string().swap(cookies_);
}

void HeadBuilder::Refuse(ApiError error) {
  Shorten();
  Fail(std::move(error));
}

}  // namespace penstock::http2
