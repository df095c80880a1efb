#include "backends/dialect/answer_reader.h"

#include <simdjson.h>

#include "backends/dialect/json_scanner.h"
#include "backends/dialect/usage_reader.h"

namespace penstock {
namespace {

bool ReadChoice(JsonScanner& scanner, AnswerFacts* facts) {
  return scanner.ForEachMember([&](absl::string_view key) {
    if (key != "finish_reason") return scanner.Skip();
    std::string reason;
    const bool json = scanner.CopyString(&reason);
    if (facts->finish_reason.empty() || reason == "length") facts->finish_reason = reason;
    return json;
  });
}

bool ReadStatus(JsonScanner& scanner, AnswerFacts* facts) {
  std::string status;
  const bool json = scanner.CopyString(&status);
  if (status == "completed") facts->finish_reason = "stop";
  if (status == "incomplete") facts->finish_reason = "length";
  return json;
}

}  // namespace

AnswerFacts ReadAnswer(Endpoint endpoint, absl::string_view body) {
  AnswerFacts facts;
  JsonScanner scanner(body);
  const bool json = scanner.WholeObject([&](absl::string_view key) {
    if (key == "usage") return ReadUsage(scanner, &facts.usage);
    if (key == "choices") return scanner.ForEachElement([&] { return ReadChoice(scanner, &facts); });
    if (key == "status" && endpoint == Endpoint::kResponses) return ReadStatus(scanner, &facts);
    return scanner.Skip();
  });
  if (!json || !simdjson::validate_utf8(body.data(), body.size())) {
    facts = AnswerFacts();
    facts.malformed = true;
  }
  return facts;
}

}  // namespace penstock
