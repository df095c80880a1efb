#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/config/load_helpers.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string OnGpu(const std::string& replicas) {
  return "gpus: [{id: g0, kind: a100-80}, {id: g1, kind: a100-80}]\nreplicas:\n" + replicas;
}

TEST(FleetChecks, DuplicateIdsAndUrlsNameTheirFirstUse) {
  EXPECT_THAT(FindingsOf("replicas: [{id: a, url: http://h:1}, {id: a, url: http://h:2}]\n"),
              HasSubstr("replicas[1].id: duplicate id \"a\", first used by replicas[0]"));
  EXPECT_EQ(FindingsOf("replicas: [{url: http://h:1}, {url: http://h:1/}]\n"),
            "f.yaml:1:37: replicas[1].url: duplicate url, already the engine of replicas[0]");
  EXPECT_THAT(FindingsOf("gpus: [{id: g, kind: h100}, {id: g, kind: l4}]\nreplicas: [{url: http://h:1}]\n"),
              HasSubstr("gpus[1].id: duplicate id \"g\""));
}

TEST(FleetChecks, MalformedUrlsAreFindings) {
  EXPECT_THAT(FindingsOf("replicas: [{url: h:1}]\n"), HasSubstr("replicas[0].url: \"h:1\" is not a URL"));
  EXPECT_THAT(FindingsOf("replicas: [{url: ftp://h:1}]\n"),
              HasSubstr("is not a URL of the form http://host:port, https"));
}

TEST(FleetChecks, ReplicasNeedAUrlOrASimulation) {
  EXPECT_THAT(FindingsOf("replicas: [{id: a}]\n"),
              HasSubstr("replicas[0].url: is required unless the replica is simulated"));
  EXPECT_THAT(FindingsOf("listen: 127.0.0.1:1\n"), HasSubstr("replicas: at least one replica is required"));
  EXPECT_TRUE(ParseConfig("listen: 127.0.0.1:1\n", "f.yaml", LoadOptions{false}).ok());
}

TEST(FleetChecks, SimulatedReplicasNeedAnIdAGpuAndAKnownModel) {
  EXPECT_THAT(FindingsOf(OnGpu("  - {gpus: [g0], model: llama-3.1-8b, simulated: {}}\n")),
              HasSubstr("replicas[0].id: is required"));
  EXPECT_THAT(FindingsOf("replicas: [{id: a, model: llama-3.1-8b, simulated: {}}]\n"),
              HasSubstr("replicas[0].gpus: is required"));
  EXPECT_THAT(FindingsOf(OnGpu("  - {id: a, gpus: [g0], simulated: {}}\n")),
              HasSubstr("replicas[0].model: is required"));
  EXPECT_THAT(FindingsOf(OnGpu("  - {id: a, gpus: [g0], model: lama-3.1-8b, simulated: {}}\n")),
              HasSubstr("\"lama-3.1-8b\" has none (did you mean \"llama-3.1-8b\"?)"));
}

TEST(FleetChecks, UnknownGpusAndModelsSuggestTheNearest) {
  EXPECT_THAT(FindingsOf(OnGpu("  - {url: http://h:1, gpus: [g0, gg1]}\n")),
              HasSubstr("f.yaml:3:34: replicas[0].gpus[1]: unknown GPU \"gg1\" (did you mean \"g1\"?), known: g0 g1"));
  EXPECT_THAT(FindingsOf("models: [{name: chat}]\nreplicas: [{url: http://h:1, model: chad}]\n"),
              HasSubstr("replicas[0].model: unknown model \"chad\" (did you mean \"chat\"?)"));
  EXPECT_THAT(FindingsOf("replicas: [{url: http://h:1, model: anything}]\n"), IsEmpty());
  EXPECT_THAT(FindingsOf("models: [{name: chat}]\nreplicas: [{url: http://h:1, model: qwen2.5-7b}]\n"), IsEmpty());
}

TEST(FleetChecks, ThePolicyGoesThroughTheGivenCheck) {
  LoadOptions options;
  options.policies = {{"first", "second"}, [](absl::string_view text) {
                        return text == "second:a=1" ? absl::OkStatus() : absl::InvalidArgumentError("second: a is bad");
                      }};
  const auto findings = [&](const std::string& policy) {
    const std::string yaml = "policy: " + policy + "\n" + WithReplica("");
    return std::string(ParseConfig(yaml, "f.yaml", options).status().message());
  };
  EXPECT_THAT(findings("first"), IsEmpty());
  EXPECT_THAT(findings("second:a=1"), IsEmpty());
  EXPECT_EQ(findings("furst"),
            "f.yaml:1:9: policy: unknown name \"furst\" (did you mean \"first\"?), known: first second");
  EXPECT_EQ(findings("second:a=2"), "f.yaml:1:9: policy: second: a is bad");
  EXPECT_THAT(FindingsOf(WithReplica("policy: anything\n")), IsEmpty());
}

TEST(FleetChecks, UnknownClassesAreFindings) {
  EXPECT_THAT(FindingsOf(WithReplica("tenants: [{name: t, keys: [k], max_class: standart}]\n")),
              HasSubstr("tenants[0].max_class: unknown class \"standart\" (did you mean \"standard\"?)"));
  EXPECT_THAT(FindingsOf(WithReplica("tenants: [{name: t, keys: [k], class: standart}]\n")),
              HasSubstr("tenants[0].class: unknown class \"standart\""));
  EXPECT_THAT(FindingsOf(WithReplica("models: [{name: m, class: batch}]\n")),
              HasSubstr("models[0].class: unknown class \"batch\""));
}

TEST(FleetChecks, NamesAndAliasesMustNotClash) {
  EXPECT_THAT(FindingsOf(WithReplica("models: [{name: a, aliases: [b]}, {name: b}]\n")),
              HasSubstr("models[1].name: \"b\" is already a name or alias of models[0]"));
  EXPECT_THAT(FindingsOf(WithReplica("models: [{name: a, aliases: [c, a]}]\n")),
              HasSubstr("models[0].aliases[1]: \"a\" is already a name or alias of models[0]"));
}

TEST(FleetChecks, WeightsAndKvAboveTheMemoryOfAGpuAreAnError) {
  const std::string fits = OnGpu(
      "  - {url: http://h:1, gpus: [g0], model: llama-3.1-8b, kv_memory: 23GB}\n"
      "  - {url: http://h:2, gpus: [g0], model: llama-3.1-8b, kv_memory: 24GB}\n");
  EXPECT_THAT(FindingsOf(fits), IsEmpty());
  EXPECT_EQ(FindingsOf(OnGpu("  - {url: http://h:1, gpus: [g0], model: llama-3.1-8b, kv_memory: 24GB}\n"
                             "  - {url: http://h:2, gpus: [g0], model: llama-3.1-8b, kv_memory: 24GB}\n")),
            "f.yaml:1:23: gpus[0].kind: weights 32.12GB and KV 48GB of h:1, h:2 take 80.12GB, above the GPU's 80GB");
}

TEST(FleetChecks, TensorParallelReplicasTakeAShareOfEachGpu) {
  EXPECT_THAT(FindingsOf(OnGpu("  - {url: http://h:1, gpus: [g0], model: llama-3.1-70b}\n")),
              HasSubstr("weights 141.2GB"));
  EXPECT_THAT(FindingsOf(OnGpu("  - {url: http://h:1, gpus: [g0, g1], model: llama-3.1-70b}\n")), IsEmpty());
  EXPECT_THAT(FindingsOf(OnGpu("  - {url: http://h:1, gpus: [g0, g1], model: llama-3.1-70b, kv_tokens: 60k}\n")),
              HasSubstr("weights 70.6GB and KV 9.83GB"));
}

TEST(FleetChecks, ElasticPoolsCountOnce) {
  const std::string gpus = "gpus: [{id: g, kind: a100-80, elastic_kv: 47GB}]\nreplicas:\n";
  const std::string two =
      "  - {url: http://h:1, gpus: [g], model: llama-3.1-8b}\n  - {url: http://h:2, gpus: [g], model: llama-3.1-8b}\n";
  EXPECT_THAT(FindingsOf(gpus + two), IsEmpty());
  EXPECT_THAT(FindingsOf(gpus + two + "  - {url: http://h:3, gpus: [g], model: qwen2.5-0.5b}\n"), HasSubstr("KV 47GB"));
}

TEST(FleetChecks, ParallelSizesMustDivideGpusAndHeads) {
  EXPECT_THAT(FindingsOf(OnGpu("  - {url: http://h:1, gpus: [g0], tensor_parallel: 2}\n")),
              HasSubstr("tensor_parallel: 2 does not divide the 1 GPUs listed"));
  EXPECT_THAT(FindingsOf("replicas: [{url: http://h:1, model: phi-4, tensor_parallel: 4}]\n"),
              HasSubstr("replicas[0].tensor_parallel"));
}

TEST(FleetChecks, KvSizesAreOneOfTwoAndBytesNeedAShape) {
  EXPECT_THAT(FindingsOf("replicas: [{url: http://h:1, model: llama-3.1-8b, kv_tokens: 9k, kv_memory: 9GB}]\n"),
              HasSubstr("give kv_memory or kv_tokens, not both"));
  EXPECT_THAT(FindingsOf("replicas: [{url: http://h:1, model: odd, kv_memory: 9GB}]\n"),
              HasSubstr("needs the shape of model \"odd\""));
  EXPECT_THAT(FindingsOf("replicas: [{url: http://h:1, model: odd, kv_tokens: 9k}]\n"), IsEmpty());
}

TEST(FleetChecks, ASimulatedCacheMustHoldABlock) {
  EXPECT_THAT(
      FindingsOf("gpus: [{id: g, kind: a10}]\nreplicas: [{id: a, gpus: [g], model: qwen2.5-14b, simulated: {}}]\n"),
      HasSubstr("gpus: leave no room for one block"));
}

TEST(FleetChecks, ASimulatedCacheThatIsGivenTooSmallIsItselfTheFault) {
  for (const std::string key : {"kv_tokens: 1", "kv_memory: 1MB"}) {
    const std::string findings =
        FindingsOf("gpus: [{id: g, kind: h100}]\nreplicas: [{id: a, gpus: [g], model: llama-3.1-8b, simulated: {}, " +
                   key + "}]\n");
    EXPECT_THAT(findings, HasSubstr(key.substr(0, key.find(':')) + ": holds less than one block of 16 tokens"));
    EXPECT_THAT(findings, Not(HasSubstr("weights")));
  }
}

TEST(FleetChecks, TenantKeysAreUniqueAndNeverShown) {
  const std::string findings = FindingsOf(WithReplica("tenants: [{name: a, keys: [hush]}, {name: a, keys: [hush]}]\n"));
  EXPECT_THAT(findings, HasSubstr("tenants[1].name: duplicate name \"a\""));
  EXPECT_THAT(findings, HasSubstr("tenants[1].keys[0]: the same key is already one of tenants[0]"));
  EXPECT_THAT(findings, Not(HasSubstr("hush")));
  EXPECT_THAT(FindingsOf(WithReplica("tenants: [{name: a, keys: []}]\n")), HasSubstr("keys: must not be empty"));
}

TEST(FleetChecks, WordsOfTheMetricsAreNoNames) {
  for (const std::string word : {"none", "other"}) {
    EXPECT_THAT(FindingsOf("replicas: [{id: " + word + ", url: http://h:1}]\n"),
                HasSubstr("replicas[0].id: \"" + word + "\" is a word of the metrics"));
    EXPECT_THAT(FindingsOf(WithReplica("models: [{name: " + word + "}]\n")),
                HasSubstr("models[0].name: \"" + word + "\" is a word of the metrics"));
    EXPECT_THAT(FindingsOf(WithReplica("tenants: [{name: " + word + ", keys: [k]}]\n")),
                HasSubstr("tenants[0].name: \"" + word + "\" is a word of the metrics"));
  }
  EXPECT_THAT(FindingsOf(WithReplica("tenants: [{name: another, keys: [k]}]\n")), IsEmpty());
}

TEST(FleetChecks, TraceModelsMustBeServedWhereAllModelsAreNamed) {
  const std::string trace = "trace: {models: {big: llama-3.1-8c}}\n";
  EXPECT_THAT(FindingsOf("replicas: [{url: http://h:1, model: llama-3.1-8b}]\n" + trace),
              HasSubstr("trace.models.big: unknown model \"llama-3.1-8c\" (did you mean \"llama-3.1-8b\"?)"));
  EXPECT_THAT(FindingsOf(WithReplica(trace)), IsEmpty());
  EXPECT_THAT(FindingsOf(WithReplica("trace: {classes: {acme: interactiv}}\n")),
              HasSubstr("trace.classes.acme: unknown class \"interactiv\" (did you mean \"interactive\"?)"));
  EXPECT_THAT(FindingsOf(WithReplica("trace: {classes: {acme: interactive, '': standard}}\n")), IsEmpty());
}

TEST(FleetChecks, FairnessAndWeightsHaveBounds) {
  EXPECT_THAT(FindingsOf(WithReplica("fairness: weighted\nfairness_charge: memory\n")), IsEmpty());
  EXPECT_THAT(FindingsOf(WithReplica("fairness: fair\n")), HasSubstr("fairness"));
  EXPECT_THAT(FindingsOf(WithReplica("fairness_charge: bytes\n")), HasSubstr("fairness_charge"));
  for (const char* weight : {"0", "-1", "0.0001", "1e7", "heavy", ".nan", ".inf"}) {
    EXPECT_THAT(FindingsOf(WithReplica(std::string("tenants: [{name: t, keys: [k], weight: ") + weight + "}]\n")),
                HasSubstr("tenants[0].weight"))
        << weight;
  }
  for (const char* share : {"-0.1", "1.5"}) {
    EXPECT_THAT(FindingsOf(WithReplica(std::string("classes: {background: {share: ") + share + "}}\n")),
                HasSubstr("classes.background.share"))
        << share;
  }
}

TEST(Warnings, AStoreNeedsAFolderThatIsOne) {
  EXPECT_THAT(Warnings(Parsed(WithReplica("state: {path: /dev/null}\n"))), ElementsAre(HasSubstr("is no folder")));
  EXPECT_THAT(Warnings(Parsed(WithReplica("state: {path: jobs}\n"))), ElementsAre(HasSubstr("relative path")));
}

TEST(Warnings, ABodyThatNeverFitsIsNamed) {
  EXPECT_THAT(Warnings(Parsed(WithReplica("limits: {max_body: 64MiB, max_body_memory: 1MiB}\n"))),
              Contains(HasSubstr("a body over max_body_memory is refused")));
  EXPECT_THAT(Warnings(Parsed(WithReplica("limits: {max_body: 1MiB, max_body_memory: 1MiB}\n"))), IsEmpty());
}

TEST(Warnings, KeysWithAnEffectNeedNone) {
  EXPECT_THAT(Warnings(Parsed(WithReplica("state: {path: /x}\n"
                                          "tenants: [{name: t, keys: [k], weight: 2}]\nadmin_listen: 127.0.0.1:1\n"))),
              IsEmpty());
  EXPECT_THAT(Warnings(Parsed(WithReplica("classes: {background: {evictable: true}}\n"))), IsEmpty());
}

TEST(Warnings, ACacheThatHoldsNoBlockIsNamed) {
  const auto of = [](const std::string& keys) {
    return ::testing::PrintToString(
        Warnings(Parsed("replicas: [{id: a, url: http://h:1, model: llama-3.1-8b, " + keys + "}]\n")));
  };
  EXPECT_THAT(of("kv_tokens: 1"), HasSubstr("replicas: a: kv_tokens holds less than one block"));
  EXPECT_THAT(of("kv_memory: 1MB"), HasSubstr("replicas: a: kv_memory holds less than one block"));
  EXPECT_THAT(of("kv_tokens: 16, block: 32"), HasSubstr("holds less than one block"));
  for (const char* enough : {"kv_tokens: 16", "kv_tokens: 1, block: 1", "kv_memory: 9GB"}) {
    EXPECT_THAT(of(enough), Not(HasSubstr("block"))) << enough;
  }
}

TEST(Warnings, ParkingThatHasNoEffectIsNamed) {
  const std::string parking = "classes: {standard: {ttft: 2s, tpot: 100ms, queue: 30s, parking: true";
  EXPECT_THAT(Warnings(Parsed(WithReplica(parking + "}}\n"))), IsEmpty());
  EXPECT_THAT(::testing::PrintToString(Warnings(Parsed(WithReplica(parking + ", refuse_late: false}}\n")))),
              HasSubstr("classes: standard: parking has no effect without refuse_late"));
  EXPECT_THAT(::testing::PrintToString(Warnings(Parsed(WithReplica("policy: round_robin\n" + parking + "}}\n")))),
              HasSubstr("classes: standard: parking has no effect with the policy round_robin"));
}

TEST(Warnings, TwoCopiesOfAModelOnATimeSlicedGpuAreNamed) {
  const auto of = [](const std::string& sharing, const std::string& second, const std::string& more = "") {
    return ::testing::PrintToString(
        Warnings(Parsed("gpus: [{id: g0, kind: h100" + sharing +
                        "}]\nmodels: [{name: llama-3.1-8b, aliases: [chat]}]\nreplicas:\n"
                        "  - {id: a, url: http://h:1, gpus: [g0], model: llama-3.1-8b, kv_memory: 9GB}\n"
                        "  - {id: b, url: http://h:2, gpus: [g0], model: " +
                        second + ", kv_memory: 9GB" + more + "}\n")));
  };
  EXPECT_THAT(of("", "llama-3.1-8b"),
              HasSubstr("gpus: g0: replicas a and b are copies of one model on a time-sliced GPU"));
  EXPECT_THAT(of("", "chat"), HasSubstr("are copies of one model"));
  EXPECT_THAT(of("", "qwen2.5-7b"), Not(HasSubstr("copies")));
  EXPECT_THAT(of(", sharing: mps", "llama-3.1-8b"), Not(HasSubstr("copies")));
}

TEST(Warnings, HeadersThatAreNeverRelayedAreNamed) {
  EXPECT_THAT(Warnings(Parsed(
                  WithReplica("relay_headers: [Host, x-session-id, content-length, Authorization, X-Penstock-A]\n"))),
              ::testing::ElementsAre(
                  "relay_headers: never relayed: Host, content-length, Authorization, X-Penstock-A (framing, "
                  "the connection's own, keys, or the router's own)"));
  for (const char* name : {"connection", "transfer-encoding", "te", "cookie", "x-request-id"}) {
    EXPECT_THAT(::testing::PrintToString(Warnings(Parsed(WithReplica(absl::StrCat("relay_headers: [", name, "]\n"))))),
                HasSubstr(absl::StrCat("never relayed: ", name)));
  }
  EXPECT_THAT(Warnings(Parsed(WithReplica("relay_headers: [x-session-id, x-team]\n"))), IsEmpty());
}

TEST(Warnings, AreFindingsThatDoNotStopAStart) {
  const Config config = Parsed(
      "gpus: [{id: tight, kind: a100-80}, {id: idle, kind: l4}, {id: shared, kind: h100, elastic_kv: 9GB}]\n"
      "models: [{name: chat, shape: llama-3.1-8b}, {name: unused}, {name: odd}]\n"
      "replicas:\n"
      "  - {id: a, url: http://h:1, gpus: [tight], model: chat, kv_memory: 63GB}\n"
      "  - {id: b, url: http://h:2, model: odd, key: '***'}\n"
      "  - {id: c, url: http://h:3, gpus: [shared], model: chat, kv_tokens: 9k}\n");
  EXPECT_THAT(::testing::PrintToString(Warnings(config)),
              ::testing::AllOf(
                  HasSubstr("gpus: tight: weights and KV leave less than 2GB"), HasSubstr("idle is used by no replica"),
                  HasSubstr("replicas: b: key is the placeholder"),
                  HasSubstr("replicas: b: key goes to another host in the clear"),
                  HasSubstr("the shape of odd is unknown"), HasSubstr("replicas: c: its GPU's elastic_kv is the pool"),
                  HasSubstr("models: unused is served by no replica")));
  EXPECT_THAT(Warnings(Parsed(WithReplica(""))), IsEmpty());
  const std::string keys = "tenants: [{name: a, keys: [k]}]\n";
  EXPECT_THAT(::testing::PrintToString(Warnings(Parsed(WithReplica(keys)))), HasSubstr("/metrics"));
  EXPECT_THAT(Warnings(Parsed(WithReplica(keys + "admin_listen: 127.0.0.1:1\n"))), IsEmpty());
  EXPECT_THAT(::testing::PrintToString(
                  Warnings(Parsed(WithReplica("gpus: [{id: n/gpu0, kind: h100}]\n"
                                              "nodes: [{id: n, exporters: [{kind: dcgm, url: 'http://h:9', key: k}]}]\n"
                                              "tracing: {endpoint: 'http://h:4318', headers: {a: b}}\n")))),
              ::testing::AllOf(HasSubstr("nodes: n: the key for http://h:9 goes to another host in the clear"),
                               HasSubstr("tracing: headers go to another host in the clear")));
  for (const char* url : {"https://h:1", "http://127.0.0.1:1", "http://[::1]:1/v1", "http://localhost:1"}) {
    EXPECT_THAT(Warnings(Parsed(absl::StrCat("replicas: [{url: \"", url, "\", key: k}]\n"))), IsEmpty()) << url;
  }
}

}  // namespace
}  // namespace penstock
