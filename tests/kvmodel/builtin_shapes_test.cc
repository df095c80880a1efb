// The built-in table of model shapes and the search by name.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "kvmodel/model_shape.h"

namespace penstock {
namespace {

TEST(BuiltinShapes, PublishedSpellingsOfANameFindItsShape) {
  const std::pair<const char*, const char*> names[] = {
      {"meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b"},
      {"meta-llama/Meta-Llama-3.1-8B-Instruct-FP8", "llama-3.1-8b"},
      {"llama3.1:8b", "llama-3.1-8b"},
      {"llama3.1:8b-instruct-q4_K_M", "llama-3.1-8b"},
      {"Meta-Llama-3-8B-Instruct.Q8_0.gguf", "llama-3-8b"},
      {"LLAMA_3_3_70B", "llama-3.3-70b"},
      {"Qwen/Qwen2.5-7B-Instruct-AWQ", "qwen2.5-7b"},
      {"Qwen/Qwen3-30B-A3B-Instruct-2507", "qwen3-30b-a3b"},
      {"Qwen/Qwen3-235B-A22B-Thinking-2507-FP8", "qwen3-235b-a22b"},
      {"Qwen/Qwen3-Next-80B-A3B-Instruct", "qwen3-next-80b-a3b"},
      {"mistralai/Mistral-7B-Instruct-v0.3", "mistral-7b-v0.3"},
      {"mistralai/Mistral-7B-Instruct-v0.1", "mistral-7b-v0.1"},
      {"mistralai/Mixtral-8x7B-Instruct-v0.1", "mixtral-8x7b"},
      {"mistralai/Mistral-Small-24B-Instruct-2501", "mistral-small-24b"},
      {"mistralai/Mistral-Small-3.2-24B-Instruct-2506", "mistral-small-3.1-24b"},
      {"google/gemma-3-27b-it", "gemma-3-27b"},
      {"google/gemma-2-9b-it", "gemma-2-9b"},
      {"TinyLlama/TinyLlama-1.1B-Chat-v1.0", "tinyllama-1.1b"},
      {"microsoft/Phi-3-mini-4k-instruct", "phi-3-mini-4k"},
      {"microsoft/phi-4", "phi-4"},
      {"openai/gpt-oss-20b", "gpt-oss-20b"},
      {"deepseek-ai/DeepSeek-V3-0324", "deepseek-v3"},
      {"deepseek-ai/DeepSeek-R1-0528", "deepseek-r1"},
      {"deepseek-ai/DeepSeek-R1-Distill-Llama-8B", "llama-3.1-8b"},
      {"NousResearch/Llama-2-7b-chat-hf", "llama-2-7b"},
  };
  for (const auto& [written, expected] : names) {
    const ModelShape* shape = FindBuiltinShape(written);
    ASSERT_NE(shape, nullptr) << written;
    EXPECT_EQ(shape->name, expected) << written;
  }
}

TEST(BuiltinShapes, AnUnknownWordIsAnotherModel) {
  for (const char* name : {"", "/", "llama", "llama-3.1", "llama-3.1-8b-draft", "deepseek-r1-distill-qwen-1.5b",
                           "gpt-4o", "qwen2-57b", "Llama-3.1-80B", "my-llama-3.1-8b"}) {
    EXPECT_EQ(FindBuiltinShape(name), nullptr) << name;
  }
}

TEST(BuiltinShapes, TheTableIsSortedAndFindsItself) {
  std::string last;
  for (const ModelShape& shape : BuiltinShapes()) {
    EXPECT_LT(last, shape.name);
    last = shape.name;
    EXPECT_EQ(FindBuiltinShape(shape.name), &shape);
    EXPECT_GT(shape.parameters, 0) << shape.name;
    EXPECT_LE(shape.active_parameters, shape.parameters) << shape.name;
    EXPECT_GT(shape.max_context, Tokens(0)) << shape.name;
    EXPECT_TRUE(FootprintOf(shape, {}).ok()) << shape.name;
  }
}

}  // namespace
}  // namespace penstock
