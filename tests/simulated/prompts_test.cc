#include "backends/simulated/face/prompts.h"

#include "gtest/gtest.h"

namespace penstock::simulated {
namespace {

Prompt ChatOf(const std::string& body) {
  BodyReader reader(body, false);
  Prompt prompt = ReadChat(reader, {});
  EXPECT_FALSE(reader.error()) << reader.error()->message;
  return prompt;
}

std::vector<Prompt> PromptsOf(const std::string& body) {
  BodyReader reader(body, false);
  std::vector<Prompt> prompts = ReadPrompts(reader, "prompt", {});
  EXPECT_FALSE(reader.error()) << reader.error()->message;
  return prompts;
}

bool Fails(const std::string& body) {
  BodyReader reader(body, false);
  if (body.find("messages") != std::string::npos) {
    ReadChat(reader, {});
  } else {
    ReadPrompts(reader, "prompt", {});
  }
  return reader.error().has_value();
}

TEST(SimulatedPrompts, TheChatTemplateAddsItsMarks) {
  // One mark at the start. Three marks, a role and a text for the message. Two marks and a role of two tokens for the
  // answer.
  EXPECT_EQ(ChatOf(R"({"messages":[{"role":"user","content":"hi"}]})").tokens, Tokens(1 + 5 + 4));
}

TEST(SimulatedPrompts, ATrailingAnswerIsContinuedAndCountsAsGiven) {
  const Prompt question = ChatOf(R"({"messages":[{"role":"user","content":"hi"}]})");
  std::string begun;
  for (int64_t i = 0; i < 3; ++i) begun += PieceAt(1, question.conversation, i);
  const Prompt continued =
      ChatOf(R"({"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":")" + begun + R"("}]})");
  EXPECT_EQ(continued.conversation, question.conversation);
  EXPECT_EQ(continued.given.tokens, Tokens(3));
}

TEST(SimulatedPrompts, ForeignWordsOfAnAssistantArePartOfTheQuestion) {
  const Prompt question = ChatOf(R"({"messages":[{"role":"user","content":"hi"}]})");
  const Prompt foreign =
      ChatOf(R"({"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"xyzzy"}]})");
  EXPECT_NE(foreign.conversation, question.conversation);
  EXPECT_EQ(foreign.given.tokens, Tokens(0));
}

TEST(SimulatedPrompts, PartsAreJoinedAndAnImageTakes256Tokens) {
  const Prompt text = ChatOf(R"({"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]})");
  EXPECT_EQ(text.tokens, ChatOf(R"({"messages":[{"role":"user","content":"hi"}]})").tokens);
  const Prompt image =
      ChatOf(R"({"messages":[{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image_url"}]}]})");
  EXPECT_EQ(image.tokens - text.tokens, Tokens(256));
}

TEST(SimulatedPrompts, EqualHeadsShareBlocksAndASaltSetsThemApart) {
  std::string words;
  for (int i = 0; i < 40; ++i) words += " word";
  const Prompt a = ReadText(words + " one", {});
  const Prompt b = ReadText(words + " two", {});
  PromptOptions salted;
  salted.salt = 1;
  const Prompt c = ReadText(words + " one", salted);
  ASSERT_GE(a.blocks.size(), 2u);
  EXPECT_EQ(a.blocks[0], b.blocks[0]);
  EXPECT_NE(a.blocks[0], c.blocks[0]);
}

TEST(SimulatedPrompts, PromptsAreTextIdsOrListsOfEither) {
  EXPECT_EQ(PromptsOf(R"({"prompt":"a"})").size(), 1u);
  EXPECT_EQ(PromptsOf(R"({"prompt":["a","b"]})").size(), 2u);
  EXPECT_EQ(PromptsOf(R"({"prompt":[1,2,3]})")[0].tokens, Tokens(3));
  EXPECT_EQ(PromptsOf(R"({"prompt":[[1,2],[3]]})").size(), 2u);
}

TEST(SimulatedPrompts, OtherShapesAreErrors) {
  for (const char* body :
       {R"({})", R"({"prompt":[]})", R"({"prompt":3})", R"({"prompt":["a",3]})", R"({"prompt":[-1]})",
        R"({"messages":[]})", R"({"messages":[{"content":"a"}]})", R"({"messages":[{"role":"user","content":3}]})"}) {
    EXPECT_TRUE(Fails(body)) << body;
  }
}

}  // namespace
}  // namespace penstock::simulated
