#include "bench/load/load_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tests/bench/load_run.h"
#include "tests/bench/scripted_endpoint.h"

namespace penstock::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

TEST(LoadClient, TokensAreCountedFromTheStream) {
  ScriptedServer server(WithChat([](const Seen&) {
    return Chunked({TokenEvent(""), TokenEvent("a"), TokenEvent("b") + TokenEvent("c"), kStop});
  }));

  const LoadOutcome outcome = Load(Requests(3), To(server));

  ASSERT_EQ(outcome.records.size(), 3u);
  for (const RequestRecord& record : outcome.records) {
    EXPECT_EQ(record.fate, Fate::kFinished) << record.reason;
    EXPECT_EQ(record.tokens.tokens(), 3);
    EXPECT_TRUE(record.OnTime());
    EXPECT_EQ(record.tenant, "team");
    EXPECT_EQ(record.service_class, "standard");
  }
  EXPECT_EQ(outcome.preemptions, std::nullopt);
}

TEST(LoadClient, ARequestHasTheTracesLengthsAndTenant) {
  ScriptedServer server(WithChat([](const Seen&) { return Chunked({TokenEvent("a"), kStop}); }));

  Load(Requests(1), To(server));

  Seen chat;
  for (const Seen& seen : server.Requests()) {
    if (seen.Has("POST ")) chat = seen;
  }
  EXPECT_TRUE(chat.Has("POST /v1/chat/completions HTTP/1.1"));
  EXPECT_TRUE(chat.Has("x-simulated-output-tokens: 7\r\n"));
  EXPECT_TRUE(chat.Has("Authorization: Bearer team\r\n"));
  EXPECT_THAT(chat.body, HasSubstr(R"("model":"m")"));
  EXPECT_THAT(chat.body, HasSubstr(R"("stream":true)"));
}

TEST(LoadClient, TheClassColumnOfTheTraceComesBeforeTheClassOfAllRequests) {
  ScriptedServer server(WithChat([](const Seen&) { return Chunked({TokenEvent("a"), kStop}); }));
  Trace trace = Requests(2);
  trace.requests[1].service_class = "batch";
  LoadClientOptions options = To(server);
  options.service_class = "interactive";

  const LoadOutcome outcome = Load(trace, options);

  EXPECT_EQ(outcome.records[0].service_class, "interactive");
  EXPECT_EQ(outcome.records[1].service_class, "batch");
  int batch = 0;
  int interactive = 0;
  for (const Seen& seen : server.Requests()) {
    batch += seen.Has("x-penstock-class: batch\r\n") ? 1 : 0;
    interactive += seen.Has("x-penstock-class: interactive\r\n") ? 1 : 0;
  }
  EXPECT_EQ(batch, 1);
  EXPECT_EQ(interactive, 1);
}

TEST(LoadClient, ALimitOfTheTraceIsStated) {
  ScriptedServer server(WithChat([](const Seen&) { return Chunked({TokenEvent("a"), kStop}); }));
  Trace trace = Requests(2);
  trace.requests[1].max_output = Tokens(5);

  Load(trace, To(server));

  std::string bodies;
  for (const Seen& seen : server.Requests()) bodies += seen.body;
  EXPECT_THAT(bodies, HasSubstr(R"("max_tokens":5,)"));
}

TEST(LoadClient, TheRoutersReceiptNamesReplicaAndQueueWait) {
  ScriptedServer server(WithChat([](const Seen& seen) {
    EXPECT_TRUE(seen.Has("x-penstock-receipt: 1\r\n"));
    std::string answer = Chunked({TokenEvent("a"), kStop});
    return answer.insert(answer.find("Content-Type"),
                         "x-penstock-receipt: {\"replica\":\"chat-a\",\"waited_ms\":12.5}\r\n");
  }));

  const LoadOutcome outcome = Load(Requests(1), To(server));

  EXPECT_EQ(outcome.records[0].replica, "chat-a");
  EXPECT_EQ(outcome.records[0].queue_wait, Duration::Milliseconds(12) + Duration::Microseconds(500));
}

TEST(LoadClient, AnUnnamedModelIsTheFirstThatTheTargetServes) {
  ScriptedServer server(WithChat([](const Seen& seen) {
    return seen.body.find("served-model") == std::string::npos ? Json(404, "{}") : Chunked({TokenEvent("a"), kStop});
  }));
  LoadClientOptions options = To(server);
  options.model.clear();

  const LoadOutcome outcome = Load(Requests(1), options);

  EXPECT_EQ(outcome.records[0].fate, Fate::kFinished) << outcome.records[0].reason;
  EXPECT_EQ(outcome.records[0].model, "served-model");
}

TEST(LoadClient, RefusalsAreKnownByHeaderCodeOrStatus) {
  std::atomic<int> count{0};
  ScriptedServer server(WithChat([&](const Seen&) -> std::string {
    switch (count++) {
      case 0:
        return Json(429, R"({"error":{"message":"x","code":"rate_limit_exceeded"}})",
                    "x-penstock-reason: deadline\r\n");
      case 1:
        return Json(503, R"({"error":{"message":"x","code":"service_unavailable"}})");
      case 2:
        return Json(429, "busy");
      default:
        return Chunked({R"(data: {"error":{"message":"late","code":"rate_limit_exceeded"}})"
                        "\n\n"});
    }
  }));

  const LoadOutcome outcome = Load(Requests(4, 0.05), To(server));

  const Results results = Summarise(outcome.records, Duration::Seconds(1));
  EXPECT_EQ(results.RefusedCount(), 4);
  EXPECT_THAT(results.refused, ElementsAre(Pair("deadline", 1), Pair("http_429", 1), Pair("rate_limit_exceeded", 1),
                                           Pair("service_unavailable", 1)));
}

TEST(LoadClient, AReasonSteersNoTerminalAndIsShort) {
  std::atomic<int> count{0};
  const std::string hostile = R"(x\n\u001b]0;title\u0007)" + std::string(1000, 'y');
  ScriptedServer server(WithChat([&](const Seen&) -> std::string {
    switch (count++) {
      case 0:
        return Json(400, R"({"error":{"message":")" + hostile + R"("}})");
      case 1:
        return Json(503, R"({"error":{"code":")" + hostile + R"("}})");
      case 2:
        return Json(429, "{}", "x-penstock-reason: \u202ered\r\n");
      default:
        return Chunked({R"(data: {"error":{"message":")" + hostile + "\"}}\n\n"});
    }
  }));

  const LoadOutcome outcome = Load(Requests(4, 0.05), To(server));

  for (const RequestRecord& record : outcome.records) {
    EXPECT_EQ(record.reason.find_first_of("\x1b\x07\n"), std::string::npos) << record.reason;
    EXPECT_LE(record.reason.size(), 120u);
    EXPECT_NE(record.reason.find('?'), std::string::npos) << record.reason;
  }
}

TEST(LoadClient, AFailureHasItsMessageAsReason) {
  std::atomic<int> count{0};
  ScriptedServer server(WithChat([&](const Seen&) -> std::string {
    switch (count++) {
      case 0:
        return Json(500, R"({"error":{"message":"Context size has been exceeded."}})");
      case 1:
        return Chunked({TokenEvent("a"), "data: {\"error\":{\"message\":\"Context size has been exceeded.\"}}\n\n"});
      case 2:
        return "this is not HTTP\r\n\r\n";
      default:
        return Chunked({TokenEvent("a")});
    }
  }));
  const LoadOutcome outcome = Load(Requests(4, 0.05), To(server));
  std::vector<std::string> reasons;  // On a busy machine requests may arrive in another order.
  for (const RequestRecord& record : outcome.records) reasons.push_back(record.reason);
  const auto http = HasSubstr("http_500: Context size has been"),
             stream = HasSubstr("stream error: Context size has been");
  EXPECT_THAT(reasons, testing::UnorderedElementsAre(http, stream, HasSubstr("connection: not HTTP"),
                                                     "stream without finish_reason"));
  for (const RequestRecord& record : outcome.records) EXPECT_EQ(record.fate, Fate::kFailed);
}

TEST(LoadClient, ABrokenStreamIsAFailure) {
  ScriptedServer server(WithChat([](const Seen&) {
    return "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\nContent-Length: 100000\r\n\r\n" +
           TokenEvent("a");
  }));
  LoadClientOptions options = To(server);
  options.drain = Duration::Seconds(0.2);

  const LoadOutcome outcome = Load(Requests(1), options);

  // The server neither sends more nor closes: the run's end settles it.
  EXPECT_EQ(outcome.records[0].fate, Fate::kFailed);
  EXPECT_EQ(outcome.records[0].reason, kUnfinished);
  EXPECT_EQ(outcome.records[0].tokens.tokens(), 1);
}

TEST(LoadClient, AClientGoesAwayWhenTheTraceSaysSo) {
  ScriptedServer server(WithChat([](const Seen&) {
    return "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 100000\r\n\r\n" + TokenEvent("a");
  }));
  Trace trace = Requests(1);
  trace.requests[0].gone_after = Duration::Milliseconds(100);

  const LoadOutcome outcome = Load(trace, To(server));

  EXPECT_EQ(outcome.records[0].fate, Fate::kFailed);
  EXPECT_EQ(outcome.records[0].reason, kClientGone);
  EXPECT_EQ(outcome.records[0].tokens.tokens(), 1);
}

TEST(LoadClient, ArrivalsDoNotWaitForAnswers) {
  // The first answer comes only when the last request has arrived.
  std::atomic<int> arrived{0};
  ScriptedServer server(WithChat([&](const Seen&) {
    ++arrived;
    while (arrived < 8) std::this_thread::yield();
    return Chunked({TokenEvent("a"), kStop});
  }));

  const LoadOutcome outcome = Load(Requests(8), To(server));

  for (const RequestRecord& record : outcome.records) EXPECT_EQ(record.fate, Fate::kFinished) << record.reason;
}

TEST(LoadClient, IdleConnectionsAreReusedAndAClosedOneIsReplaced) {
  std::atomic<int> count{0};
  // The third request on a connection finds it closed.
  std::map<int, int> per_connection;
  std::mutex mutex;
  ScriptedServer server(WithChat([&](const Seen& seen) -> std::string {
    ++count;
    const std::lock_guard lock(mutex);
    if (++per_connection[seen.connection] > 2) return "";
    return Chunked({TokenEvent("a"), kStop});
  }));

  Trace trace = Requests(6, 0.05);
  for (TraceRequest& request : trace.requests) request.gone_after = Duration::Seconds(60);
  const LoadOutcome outcome = Load(trace, To(server));

  for (const RequestRecord& record : outcome.records) EXPECT_EQ(record.fate, Fate::kFinished) << record.reason;
  EXPECT_LT(per_connection.size(), 6u);
  EXPECT_LT(outcome.elapsed, Duration::Seconds(30)) << "no client is waited for that has its answer";
}

TEST(LoadClient, DirectTargetsTakeTurnsAndTheirPreemptionsAddUp) {
  const auto engine = [](const std::string& name, std::atomic<int>& scrapes) {
    return [&scrapes, name](const Seen& seen) {
      if (seen.Has("GET /metrics")) {
        return Json(200, "vllm:num_preemptions_total{engine=\"0\"} " + std::to_string(10 + 3 * scrapes++) + "\n");
      }
      return Chunked({TokenEvent(name), kStop});
    };
  };
  std::atomic<int> first_scrapes{0}, second_scrapes{0};
  ScriptedServer first(engine("a", first_scrapes));
  ScriptedServer second(engine("b", second_scrapes));
  LoadClientOptions options = To(first);
  options.targets.push_back(second.Target());
  options.name_replicas = true;

  const LoadOutcome outcome = Load(Requests(4), options);

  EXPECT_EQ(outcome.preemptions, 6);
  const Results results = Summarise(outcome.records, Duration::Seconds(1));
  ASSERT_EQ(results.per_replica.size(), 2u);
  for (const auto& [replica, group] : results.per_replica) EXPECT_EQ(group.finished, 2) << replica;
}

TEST(LoadClient, AnAbsentServerFailsTheRequestsNotTheRun) {
  LoadTarget target;
  {
    ScriptedServer server([](const Seen&) { return std::string(); });
    target = server.Target();
  }
  LoadClientOptions options;
  options.targets = {target};
  options.model = "m";

  const LoadOutcome outcome = Load(Requests(2), options);

  for (const RequestRecord& record : outcome.records) {
    EXPECT_EQ(record.fate, Fate::kFailed);
    EXPECT_THAT(record.reason, HasSubstr("connection: "));
  }
}

}  // namespace
}  // namespace penstock::bench
