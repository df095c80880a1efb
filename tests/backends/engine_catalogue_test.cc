#include "backends/engines/catalogue/engine_catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace penstock {
namespace {

TEST(EngineCatalogue, KindsAndNamesAreUniqueAndFindTheirEngine) {
  std::set<std::string> names;
  for (const EngineDeclaration* engine : EngineCatalogue()) {
    EXPECT_TRUE(names.insert(engine->name).second) << engine->name;
    EXPECT_EQ(&EngineOf(engine->kind), engine);
    EXPECT_EQ(EngineByName(engine->name), engine);
  }
  EXPECT_THAT(names, testing::UnorderedElementsAre("vllm", "sglang", "llamacpp", "tgi", "ollama", "openai"));
  EXPECT_EQ(EngineByName("auto"), nullptr);
}

TEST(EngineCatalogue, OnlyAnOwnerThatIdentifiesAnEngineFindsIt) {
  EXPECT_EQ(EngineByOwner("vllm")->kind, EngineKind::kVllm);
  EXPECT_EQ(EngineByOwner("sglang")->kind, EngineKind::kSglang);
  EXPECT_EQ(EngineByOwner("llamacpp")->kind, EngineKind::kLlamaCpp);
  EXPECT_EQ(EngineByOwner("library"), nullptr) << "Ollama lets its users choose the owner";
  EXPECT_EQ(EngineByOwner(""), nullptr);
}

TEST(EngineCatalogue, SglangIsTriedBeforeOllamaAndTheGenericServerLast) {
  std::vector<EngineKind> order;
  for (const EngineDeclaration* engine : EngineCatalogue()) order.push_back(engine->kind);
  const auto at = [&](EngineKind kind) { return std::find(order.begin(), order.end(), kind) - order.begin(); };
  EXPECT_LT(at(EngineKind::kSglang), at(EngineKind::kOllama));
  EXPECT_EQ(order.back(), EngineKind::kOpenAi);
  EXPECT_TRUE(EngineCatalogue().back()->signs.empty());
}

TEST(EngineCatalogue, ThePoolOverflowOfLlamaServerIsRecognised) {
  EXPECT_TRUE(IsPoolOverflow("Context size has been exceeded."));
  EXPECT_FALSE(IsPoolOverflow("The prompt is too long."));
  EXPECT_FALSE(IsPoolOverflow(""));
}

TEST(Capabilities, LlamaServerStreamsEverythingAndItsConnectionsAreNotKeptAfterAStream) {
  const Capabilities& capabilities = EngineOf(EngineKind::kLlamaCpp).capabilities;
  EXPECT_TRUE(capabilities.stream_everything);
  EXPECT_TRUE(capabilities.closes_after_stream);
  for (const EngineDeclaration* engine : EngineCatalogue()) {
    if (engine->kind == EngineKind::kLlamaCpp) continue;
    EXPECT_FALSE(engine->capabilities.stream_everything) << engine->name;
    EXPECT_FALSE(engine->capabilities.closes_after_stream) << engine->name;
  }
}

TEST(Capabilities, IdleConnectionsAreClosedBeforeAnyEngineClosesThem) {
  for (const EngineDeclaration* engine : EngineCatalogue()) {
    EXPECT_LT(engine->capabilities.idle_limit, Duration::Seconds(5)) << engine->name;
  }
}

TEST(Capabilities, TgiOllamaAndUnknownServersDoNotContinueAFinalMessage) {
  for (const EngineDeclaration* engine : EngineCatalogue()) {
    const bool unable =
        engine->kind == EngineKind::kTgi || engine->kind == EngineKind::kOllama || engine->kind == EngineKind::kOpenAi;
    EXPECT_EQ(engine->capabilities.continues_final_message, !unable) << engine->name;
  }
}

TEST(Capabilities, OnlyLlamaServerContinuesMessagesUnasked) {
  for (const EngineDeclaration* engine : EngineCatalogue()) {
    const bool llama = engine->kind == EngineKind::kLlamaCpp;
    EXPECT_EQ(engine->capabilities.continues_messages, llama) << engine->name;
    EXPECT_EQ(engine->capabilities.Continues(Endpoint::kMessages), engine->capabilities.Continues(Endpoint::kChat))
        << "others go on with a chat: " << engine->name;
    EXPECT_EQ(engine->capabilities.Continues(Endpoint::kCompletions), engine->kind != EngineKind::kOllama)
        << "Ollama puts its template around a prompt: " << engine->name;
  }
}

TEST(Capabilities, EndpointsAreSupportedAsTheEngineDeclaresThem) {
  const auto supported = [](EngineKind kind) {
    std::vector<Endpoint> all;
    for (const Endpoint endpoint :
         {Endpoint::kChat, Endpoint::kCompletions, Endpoint::kEmbeddings, Endpoint::kResponses, Endpoint::kRerank}) {
      if (EngineOf(kind).capabilities.Supports(endpoint)) all.push_back(endpoint);
    }
    return all;
  };
  using testing::ElementsAre;
  EXPECT_THAT(supported(EngineKind::kTgi), ElementsAre(Endpoint::kChat, Endpoint::kCompletions));
  EXPECT_THAT(supported(EngineKind::kOllama),
              ElementsAre(Endpoint::kChat, Endpoint::kCompletions, Endpoint::kEmbeddings, Endpoint::kResponses));
  EXPECT_EQ(supported(EngineKind::kVllm).size(), 5u);
  EXPECT_EQ(supported(EngineKind::kOpenAi).size(), 5u);
  EXPECT_EQ(EngineOf(EngineKind::kOpenAi).capabilities.endpoints, EndpointSet::All());
  EXPECT_TRUE(EngineOf(EngineKind::kVllm).capabilities.Supports(Endpoint::kClassify));
  EXPECT_FALSE(EngineOf(EngineKind::kLlamaCpp).capabilities.Supports(Endpoint::kClassify));
  EXPECT_TRUE(EngineOf(EngineKind::kLlamaCpp).capabilities.Supports(Endpoint::kTokenize));
}

TEST(Capabilities, SglangNoticesACancelLatestOfTheKnownEngines) {
  for (const EngineDeclaration* engine : EngineCatalogue()) {
    EXPECT_GT(engine->capabilities.abort_memory_hold, Duration()) << engine->name;
    EXPECT_LE(engine->capabilities.abort_memory_hold, EngineOf(EngineKind::kSglang).capabilities.abort_memory_hold);
  }
}

TEST(EngineDefaults, LlamaServerHasSingleTokenCellsAndFourSlots) {
  EXPECT_EQ(EngineOf(EngineKind::kLlamaCpp).defaults.block, Tokens(1));
  EXPECT_EQ(EngineOf(EngineKind::kLlamaCpp).defaults.max_sequences, 4);
  EXPECT_EQ(EngineOf(EngineKind::kOllama).defaults.max_sequences, 1) << "OLLAMA_NUM_PARALLEL";
  EXPECT_EQ(EngineOf(EngineKind::kVllm).defaults.block, Tokens(16));
  EXPECT_EQ(EngineOf(EngineKind::kVllm).defaults.max_sequences, 256);
}

TEST(EngineDefaults, OnlyTheOverflowOfLlamaServerIsFatal) {
  for (const EngineDeclaration* engine : EngineCatalogue()) {
    EXPECT_EQ(engine->defaults.overflow_fatal, engine->kind == EngineKind::kLlamaCpp) << engine->name;
  }
}

TEST(EngineDefaults, VllmAndSglangKeepPrefixes) {
  for (const EngineDeclaration* engine : EngineCatalogue()) {
    const bool keeps = engine->kind == EngineKind::kVllm || engine->kind == EngineKind::kSglang;
    EXPECT_EQ(engine->defaults.keeps_prefixes, keeps) << engine->name;
  }
}

}  // namespace
}  // namespace penstock
