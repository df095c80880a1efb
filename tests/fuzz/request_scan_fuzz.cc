// Any bytes as the body of any endpoint: what is accepted is JSON, and stays JSON with the asked fields after splicing.
// The first byte chooses the endpoint and the orders.
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>

#include "backends/engines/catalogue/engine_catalogue.h"
#include "router/openai/request/body_splice.h"
#include "router/openai/request/request_scan.h"
#include "tests/fuzz/expect.h"

namespace {

using penstock::Endpoint;
using penstock::RequestFacts;
using penstock::SpliceOrder;

constexpr Endpoint kEndpoints[] = {Endpoint::kChat, Endpoint::kCompletions, Endpoint::kEmbeddings, Endpoint::kResponses,
                                   Endpoint::kRerank};
// First bytes from 192 on choose one of these.
constexpr Endpoint kMore[] = {Endpoint::kScore, Endpoint::kPooling, Endpoint::kModerations, Endpoint::kTokenize,
                              Endpoint::kMessages};

// The size of the slices makes no difference.
void ExpectEqualInSlices(Endpoint endpoint, const std::string& body,
                         const std::variant<RequestFacts, penstock::ApiError>& whole, size_t slice) {
  penstock::RequestScan scan(endpoint, body, penstock::AllOutputLimits());
  while (!scan.Advance(slice)) continue;
  const auto sliced = scan.Take();
  Expect(sliced.index() == whole.index(), "a scan in slices accepts the same bodies");
  if (const RequestFacts* facts = std::get_if<RequestFacts>(&whole)) {
    Expect(*facts == std::get<RequestFacts>(sliced), "a scan in slices finds the same facts");
  } else {
    Expect(std::get<penstock::ApiError>(whole).code == std::get<penstock::ApiError>(sliced).code,
           "a scan in slices finds the same fault");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const Endpoint endpoint = data[0] < 192 ? kEndpoints[data[0] % 5] : kMore[data[0] % std::size(kMore)];
  std::string body(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto scanned = ScanRequest(endpoint, body, penstock::AllOutputLimits());
  ExpectEqualInSlices(endpoint, body, scanned, 1 + data[0] / 8);
  if (!std::holds_alternative<RequestFacts>(scanned)) return 0;
  const RequestFacts& facts = std::get<RequestFacts>(scanned);
  const auto before = nlohmann::json::parse(body, nullptr, false);
  Expect(before.is_object(), "what is accepted is a JSON object");
  Expect(before.value("model", "") == facts.model, "the model is the one that the engine would read");
  Expect(facts.n >= 1 && facts.n <= penstock::kMaxSequences, "n is within its bounds");
  for (const penstock::GivenLimit& limit : facts.limits)
    Expect(limit.value.value_or(0) >= 0, "a limit is not negative");

  SpliceOrder order;
  if ((data[0] & 8) != 0) order.engine_model = "org/other \"model\"";
  order.force_stream = (data[0] & 16) != 0 && (endpoint == Endpoint::kChat || endpoint == Endpoint::kCompletions);
  order.ask_usage = order.force_stream;
  if ((data[0] & 32) != 0 && facts.Continuable(endpoint))
    order.continue_from = R"(text \"so\\far\")";  // As inside a JSON string.
  const penstock::SplicedBody spliced(body, endpoint, facts, order);
  const auto after = nlohmann::json::parse(spliced.Joined(), nullptr, false);
  Expect(after.is_object(), "a spliced body is a JSON object");
  Expect(order.engine_model.empty() || after["model"] == order.engine_model, "the engine gets its own model name");
  Expect(!order.force_stream || after["stream"] == true, "a forced stream is asked for");
  Expect(!order.ask_usage || after["stream_options"]["include_usage"] == true, "usage is asked for");
  if (order.engine_model.empty() && !order.force_stream && !order.continue_from) {
    Expect(spliced.Joined() == body, "a body that needs nothing passes byte for byte");
  }
  return 0;
}
