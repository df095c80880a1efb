// The configuration of replicas that serve a model in pairs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/config/load_helpers.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string Replicas(const std::string& prefill, const std::string& decode, const std::string& more = "") {
  return absl::StrCat("replicas: [{url: http://h:1", prefill, "}, {url: http://h:2", decode, "}", more, "]\n");
}
const std::string kPrefill = ", model: m, role: prefill";
const std::string kDecode = ", model: m, role: decode";

TEST(RoleKeys, AReplicaDoesAllByDefault) {
  EXPECT_EQ(Parsed(Replicas("", "")).replicas[0].role, ReplicaRole::kBoth);
  EXPECT_EQ(Parsed(Replicas(", role: both", "")).replicas[0].role, ReplicaRole::kBoth);
}

TEST(RoleKeys, AreReadAndPrinted) {
  const Config config = Parsed(Replicas(kPrefill + ", transfer: 50GB/s", kDecode));
  EXPECT_EQ(config.replicas[0].role, ReplicaRole::kPrefill);
  EXPECT_EQ(config.replicas[0].transfer, 50);
  EXPECT_EQ(config.replicas[1].role, ReplicaRole::kDecode);
  const Config again = Parsed(PrintConfig(config));
  EXPECT_EQ(again.replicas[0].role, ReplicaRole::kPrefill);
  EXPECT_EQ(again.replicas[0].transfer, 50);
}

TEST(RoleKeys, AnAdapterOfAPairIsWarnedOf) {
  const auto warned = [](const std::string& first, const std::string& second) {
    const std::string adapters = "adapters: [{name: lo, path: /lo, model: m}]\n";
    return absl::StrJoin(Warnings(Parsed(Replicas(first, second) + adapters)), "\n");
  };
  EXPECT_THAT(warned(kPrefill, kDecode), HasSubstr("adapters: lo is loaded at decode replicas only"));
  EXPECT_THAT(warned(", model: m", ", model: m"), Not(HasSubstr("adapters: lo")));
}

TEST(RoleKeys, APairNeedsBothOfItsReplicas) {
  EXPECT_THAT(FindingsOf(Replicas(kPrefill, kDecode)), IsEmpty());
  EXPECT_THAT(FindingsOf(Replicas(kPrefill, kPrefill)),
              HasSubstr("replicas[0].role: model \"m\" has no replica with role: decode; a pair needs both"));
  EXPECT_THAT(FindingsOf(Replicas(kDecode, kDecode)), HasSubstr("model \"m\" has no replica with role: prefill"));
  EXPECT_THAT(FindingsOf(Replicas(kPrefill, ", model: n, role: decode")),
              HasSubstr("model \"n\" has no replica with role: prefill"));
}

TEST(RoleKeys, AliasesAreOneModel) {
  const std::string models = "models: [{name: m, shape: llama-3.1-8b, aliases: [n]}]\n";
  EXPECT_THAT(FindingsOf(models + Replicas(kPrefill, ", model: n, role: decode")), IsEmpty());
}

TEST(RoleKeys, AllReplicasOfAModelHaveARoleOrNone) {
  EXPECT_THAT(FindingsOf(Replicas(kPrefill, kDecode, ", {id: third, url: http://h:3, model: m}")),
              HasSubstr("replica third serves model \"m\" without a role"));
  EXPECT_THAT(FindingsOf(Replicas(kPrefill, kDecode, ", {url: http://h:3, model: other}")), IsEmpty());
}

TEST(RoleKeys, ExcludeWhatAPairCannotDo) {
  EXPECT_THAT(FindingsOf(Replicas(", role: prefill", kDecode)),
              HasSubstr("replicas[0].model: is required with a role"));
  EXPECT_THAT(FindingsOf(Replicas(kPrefill + ", sleep: {}", kDecode)), HasSubstr("replicas[0].sleep: is not possible"));
  EXPECT_THAT(
      FindingsOf("gpus: [{id: g, kind: h100, elastic_kv: 20GB}]\n" + Replicas(kPrefill + ", gpus: [g]", kDecode)),
      HasSubstr("replicas[0].gpus: with elastic_kv are not possible with a role"));
  EXPECT_THAT(FindingsOf(Replicas(kPrefill + ", block: 16", kDecode + ", block: 32")),
              HasSubstr("replicas[0].block: is 16, and 32 at replica"));
  EXPECT_THAT(FindingsOf(Replicas(kPrefill + ", engine: ollama", kDecode)),
              HasSubstr("is ollama; only vllm has a role"));
  EXPECT_THAT(FindingsOf(Replicas(", model: m, role: prefil", kDecode)), HasSubstr("unknown name \"prefil\""));
  EXPECT_THAT(FindingsOf(Replicas(kPrefill + ", transfer: 0GB/s", kDecode)), HasSubstr("replicas[0].transfer"));
}

TEST(RoleKeys, APairHasNoWarningOfItsRoles) {
  EXPECT_THAT(Warnings(Parsed(Replicas(kPrefill, kDecode))), ::testing::Not(::testing::Contains(HasSubstr("role"))));
}

TEST(RoleKeys, RivalPoliciesLeavePrefillReplicasIdle) {
  const std::string fleet = Replicas(kPrefill, kDecode);
  EXPECT_THAT(Warnings(Parsed(fleet + "policy: round_robin\n")),
              ::testing::Contains(HasSubstr("knows no pairs: prefill replicas stay idle")));
}

}  // namespace
}  // namespace penstock
