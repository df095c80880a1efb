// Interim answers (1xx) before the answer, as servers and proxies send them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "bench/load/load_client.h"
#include "tests/bench/load_run.h"
#include "tests/bench/scripted_endpoint.h"

namespace penstock::bench {
namespace {

TEST(LoadClient, InterimAnswersAreNotTheAnswer) {
  const std::string interim =
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n";
  ScriptedServer server([&](const Seen& seen) {
    return interim + WithChat([](const Seen&) { return Chunked({TokenEvent("a"), TokenEvent("b"), kStop}); })(seen);
  });
  LoadClientOptions options = To(server);
  options.model.clear();

  const LoadOutcome outcome = Load(Requests(3, 0.05), options);

  for (const RequestRecord& record : outcome.records) {
    EXPECT_EQ(record.fate, Fate::kFinished) << record.reason;
    EXPECT_EQ(record.tokens.tokens(), 2);
    EXPECT_EQ(record.model, "served-model");
  }
}

TEST(LoadClient, EndlessInterimAnswersAndASwitchOfProtocolsAreFailures) {
  std::atomic<int> count{0};
  ScriptedServer server(WithChat([&](const Seen&) -> std::string {
    if (count++ > 0) return "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n";
    std::string answers;
    for (int i = 0; i < 100; ++i) answers += "HTTP/1.1 102 Processing\r\n\r\n";
    return answers;
  }));

  const LoadOutcome outcome = Load(Requests(2, 0.05), To(server));

  std::vector<std::string> reasons;
  for (const RequestRecord& record : outcome.records) reasons.push_back(record.reason);
  EXPECT_THAT(reasons, testing::UnorderedElementsAre("connection: not HTTP: too many interim answers",
                                                     "connection: not HTTP: answer switches protocols unasked"));
}

}  // namespace
}  // namespace penstock::bench
