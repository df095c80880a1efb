// Requests that pass without their meaning: a form in parts, and a JSON body under a configured route. The input's
// first byte chooses the size of the slices.
#include <cstddef>
#include <cstdint>
#include <string>

#include "router/openai/passed/passed_scan.h"
#include "tests/fuzz/expect.h"

namespace {

using penstock::ApiError;
using penstock::PassedRequest;
using penstock::RequestFacts;
using penstock::RouteConfig;

std::variant<RequestFacts, ApiError> Scan(const PassedRequest& request, absl::string_view body, size_t slice) {
  penstock::PassedScan scan(request, body);
  size_t turns = 0;
  while (!scan.Advance(slice)) Expect(++turns <= body.size() + 2, "each slice goes on");
  return scan.Take();
}

void Check(const PassedRequest& request, absl::string_view body, size_t slice) {
  const auto whole = Scan(request, body, body.size() + 1);
  const auto sliced = Scan(request, body, slice);
  Expect(whole.index() == sliced.index(), "slices make no difference");
  const auto* facts = std::get_if<RequestFacts>(&whole);
  if (facts == nullptr) {
    Expect(!std::get<ApiError>(whole).message.empty(), "a fault has a message");
    return;
  }
  Expect(*facts == std::get<RequestFacts>(sliced), "slices find the same facts");
  Expect(!facts->model.empty(), "a good request has a model");
  if (facts->model_at) Expect(facts->model_at->end <= body.size(), "the model stands in the body");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t slice = 1 + data[0] % 64;
  const absl::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
  RouteConfig rule;
  rule.path = "/x";
  rule.cost = penstock::RouteCost::kPrompt;
  rule.fields = {"prompt"};
  Check({penstock::Endpoint::kTranscriptions, nullptr, "", "multipart/form-data; boundary=b"}, body, slice);
  Check({penstock::Endpoint::kRoute, &rule, "/x", "multipart/form-data; boundary=b"}, body, slice);
  Check({penstock::Endpoint::kRoute, &rule, "/x", "application/json"}, body, slice);
  return 0;
}
