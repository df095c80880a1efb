// Events of an answer, a request with the state of its answer, and the pieces that pass: for tests of the relay.
#ifndef PENSTOCK_TESTS_OPENAI_RELAY_FOR_TEST_H_
#define PENSTOCK_TESTS_OPENAI_RELAY_FOR_TEST_H_

#include <string>

#include "base/byte_budget.h"
#include "router/openai/answer/delivered_text.h"
#include "router/openai/answer/stream_relay.h"

namespace penstock {

inline constexpr Instant kNow = Instant::FromNanoseconds(1'000);

inline std::string Joined(const StreamRelay& relay) {
  std::string all;
  for (absl::string_view piece : relay.pieces()) all.append(piece.data(), piece.size());
  return all;
}

inline const std::string kRole =
    "data: "
    "{\"id\":\"c1\",\"created\":5,\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n";
inline const std::string kWord =
    "data: {\"id\":\"c1\",\"created\":5,\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word\"}}]}\n\n";
inline const std::string kStop =
    "data: {\"id\":\"c1\",\"created\":5,\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
inline const std::string kUsage =
    "data: "
    "{\"id\":\"c1\",\"created\":5,\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":2,\"total_"
    "tokens\":9}}\n\n";
inline const std::string kDone = "data: [DONE]\n\n";

struct Fixture {
  Fixture() { state.text = DeliveredText(budget, {}); }
  ByteBudget budget;
  RequestFacts facts;
  RelayState state;
};

}  // namespace penstock

#endif  // PENSTOCK_TESTS_OPENAI_RELAY_FOR_TEST_H_
