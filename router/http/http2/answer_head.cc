#include "router/http/http2/answer_head.h"

#include <algorithm>
#include <array>
#include <string>

#include "absl/strings/ascii.h"
#include "router/http/exchange/date.h"

namespace penstock::http2 {
namespace {

constexpr std::array<absl::string_view, 5> kOfConnections = {"connection", "keep-alive", "proxy-connection",
                                                             "transfer-encoding", "upgrade"};
constexpr size_t kUsualFields = 12;
constexpr size_t kUsualBytes = 384;

}  // namespace

AnswerHead::AnswerHead() {
  fields_.Reserve(kUsualFields, kUsualBytes);
  fields_.Add("date", DateNow());
}

void AnswerHead::Add(absl::string_view name, absl::string_view value) {
  const std::string lower = absl::AsciiStrToLower(name);
  if (std::find(kOfConnections.begin(), kOfConnections.end(), lower) != kOfConnections.end()) return;
  if (std::none_of(value.begin(), value.end(), EndsField)) return fields_.Add(lower, value);
  std::string clean(value);
  clean.erase(std::remove_if(clean.begin(), clean.end(), EndsField), clean.end());
  fields_.Add(lower, clean);
}

}  // namespace penstock::http2
