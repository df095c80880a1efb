// The models of Ollama in the fleet: their names with and without a tag, and their sequences.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "router/fleet/fleet_book.h"
#include "router/fleet/sleep_plan.h"

namespace penstock {
namespace {

using testing::ElementsAre;

Config OllamaConfig(const std::string& yaml) {
  const absl::StatusOr<Config> config = ParseConfig(yaml, "f.yaml");
  EXPECT_TRUE(config.ok()) << config.status();
  return config.ok() ? *config : Config{};
}

Discovery Listing(EngineKind kind, const std::vector<std::string>& models) {
  Discovery found;
  found.kind = kind;
  for (const std::string& name : models) found.models.push_back({name, Tokens(0)});
  return found;
}

TEST(OllamaModels, ANameThatNobodyHasMeansTheSameWithOrWithoutTheTagLatest) {
  FleetBook book(OllamaConfig("replicas: [{id: a, url: http://h:1}]"));
  book.SetDiscovery(ReplicaId(0), Listing(EngineKind::kOllama, {"m:latest", "n", "p:7b", "p"}));
  EXPECT_EQ(book.ModelByName("m"), book.ModelByName("m:latest"));
  EXPECT_EQ(book.ModelByName("n:latest"), book.ModelByName("n"));
  EXPECT_NE(book.ModelByName("m"), std::nullopt);
  EXPECT_NE(book.ModelByName("n"), std::nullopt);
  EXPECT_NE(book.ModelByName("p"), book.ModelByName("p:7b"));
  for (const char* other : {"m:7b", "m:latest:latest", "q", ":latest", ""}) {
    EXPECT_EQ(book.ModelByName(other), std::nullopt) << other;
  }
}

TEST(OllamaModels, EachModelOfAServerWithAProcessForEachHasItsOwnSequences) {
  Discovery found = Listing(EngineKind::kOllama, {"one", "another"});
  found.process_per_model = true;
  FleetBook book(OllamaConfig("replicas: [{id: a, url: http://h:1}, {id: b, url: http://h:2, max_seqs: 5}]\n"));
  for (const uint32_t replica : {0, 1}) book.SetDiscovery(ReplicaId(replica), found);
  EXPECT_EQ(book.fleet().replicas[0].max_sequences, 2);
  EXPECT_EQ(book.fleet().replicas[1].max_sequences, 5);
  found.models.pop_back();
  book.SetDiscovery(ReplicaId(0), found);
  EXPECT_EQ(book.fleet().replicas[0].max_sequences, 1);
}

TEST(OllamaModels, AModelOfOllamaHasTheNameOfTheConfigurationWithAndWithoutItsTag) {
  const Config plain = OllamaConfig(
      "models: [{name: own}, {name: told, aliases: [other]}]\n"
      "replicas: [{id: a, url: http://h:1, model: own}]\n");
  const Config tagged = OllamaConfig("replicas: [{id: a, url: http://h:1, model: \"own:latest\"}]\n");
  const auto names = [&](EngineKind kind, const Config& config) {
    Discovery found = Listing(kind, {"own:latest", "other:latest", "told:7b", "strange:latest"});
    FitModels(config, config.replicas[0], found);
    std::vector<std::string> spelled;
    for (const ServedModel& model : found.models) spelled.push_back(model.name);
    return spelled;
  };
  EXPECT_THAT(names(EngineKind::kOllama, plain), ElementsAre("own", "other", "told:7b", "strange:latest"));
  EXPECT_THAT(names(EngineKind::kOllama, tagged),
              ElementsAre("own:latest", "other:latest", "told:7b", "strange:latest"));
  EXPECT_THAT(names(EngineKind::kVllm, plain), ElementsAre("own:latest", "other:latest", "told:7b", "strange:latest"));
}

}  // namespace
}  // namespace penstock
