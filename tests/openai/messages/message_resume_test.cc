// Messages of Anthropic's dialect that another engine goes on with: the client sees one message.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/openai/relay_for_test.h"

namespace penstock {
namespace {

std::string Said(const std::string& type, const std::string& more) {
  return absl::StrCat("event: ", type, "\ndata: {\"type\":\"", type, "\"", more, "}\n\n");
}
std::string Opening(const std::string& id, int input) {
  return Said("message_start", absl::StrCat(",\"message\":{\"id\":\"", id, "\",\"usage\":{\"input_tokens\":", input,
                                            ",\"output_tokens\":0}}"));
}
std::string BlockStart(int index, const std::string& block = R"({"type":"text","text":""})") {
  return Said("content_block_start", absl::StrCat(",\"index\":", index, ",\"content_block\":", block));
}
std::string Text(int index, const std::string& text) {
  return Said("content_block_delta",
              absl::StrCat(",\"index\":", index, ",\"delta\":{\"type\":\"text_delta\",\"text\":\"", text, "\"}"));
}
std::string BlockStop(int index) { return Said("content_block_stop", absl::StrCat(",\"index\":", index)); }
std::string MessageEnd(int output) {
  return Said("message_delta",
              absl::StrCat(R"(,"delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":)", output, "}"));
}
const std::string kEndOfMessage = Said("message_stop", "");

// Feeds one attempt whose events the client gets all.
std::string Attempt(Fixture& f, const std::string& bytes, StreamRelay::Result* result = nullptr) {
  StreamRelay relay(Endpoint::kMessages, f.facts, f.state);
  const StreamRelay::Result end = relay.Feed(bytes, kNow);
  if (result != nullptr) *result = end;
  f.state.delivered += relay.counts().in_pieces();
  return Joined(relay);
}

void GoOn(Fixture& f) { f.state.Restart(/*keep_delivered=*/true, /*trimmed=*/true); }

TEST(MessageResume, TheNextAttemptGoesOnWithTheOpenBlock) {
  Fixture f;
  Attempt(f, Opening("m1", 7) + BlockStart(0) + Text(0, "a word"));
  GoOn(f);
  EXPECT_EQ(f.state.PromptText(), "a word");
  EXPECT_EQ(Attempt(f, Opening("m2", 9) + BlockStart(0) + Text(0, " and") + Text(0, " more") + BlockStop(0) +
                           MessageEnd(2) + kEndOfMessage),
            Text(0, " and") + Text(0, " more") + BlockStop(0) + MessageEnd(3) + kEndOfMessage);
  EXPECT_EQ(f.state.usage->prompt, Tokens(7));
  EXPECT_EQ(f.state.usage->output, Tokens(3));
  EXPECT_EQ(f.state.text.text(), "a word and more");
}

TEST(MessageResume, AnEventOfSeveralLinesHasOneForTheClient) {
  Fixture f;
  Attempt(f, Opening("m1", 7) + BlockStart(0) + Text(0, "a word"));
  GoOn(f);
  const std::string lines =
      "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\ndata: \"delta\":\n"
      "data: {\"type\":\"text_delta\",\ndata: \"text\":\" and\"}\ndata: }\n\n";
  EXPECT_EQ(Attempt(f, Opening("m2", 9) + BlockStart(0) + lines),
            "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0, \"delta\": "
            "{\"type\":\"text_delta\", \"text\":\" and\"} }\n\n");
}

TEST(MessageResume, ThePromptOfTheFirstAttemptCountsAlsoWhereItToldNone) {
  Fixture f;
  Attempt(f, Said("message_start", R"(,"message":{"id":"m1"})") + BlockStart(0) + Text(0, "word"));
  GoOn(f);
  Attempt(f, Opening("m2", 9) + BlockStart(0) + Text(0, " more") + BlockStop(0) + MessageEnd(1) + kEndOfMessage);
  EXPECT_EQ(f.state.usage->prompt, Tokens(8)) << "the delivered token is part of the longer prompt";
  EXPECT_EQ(f.state.usage->output, Tokens(2));
}

TEST(MessageResume, AnEngineThatTellsThePromptAtTheEndTellsThatOfTheClient) {
  Fixture f;
  Attempt(f, Opening("m1", 0) + BlockStart(0) + Text(0, "one"));
  GoOn(f);
  EXPECT_EQ(Attempt(f, Opening("m2", 0) + BlockStart(0) + Text(0, " two") + BlockStop(0) +
                           Said("message_delta",
                                R"(,"delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":9,"output_tokens":1})")),
            Text(0, " two") + BlockStop(0) +
                Said("message_delta",
                     R"(,"delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":8,"cache_creation_input_tokens":0,)"
                     R"("cache_read_input_tokens":0,"output_tokens":2})"));
}

TEST(MessageResume, TheUsageHasTheCachedPartOfTheFirstAttempt) {
  Fixture f;
  Attempt(f,
          Said("message_start", R"(,"message":{"id":"m1","usage":{"input_tokens":3,"cache_read_input_tokens":32}})") +
              BlockStart(0) + Text(0, "one"));
  GoOn(f);
  const std::string end = Attempt(
      f, Opening("m2", 36) + BlockStart(0) + Text(0, " two") + BlockStop(0) +
             Said("message_delta",
                  R"(,"delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":36,"cache_read_input_tokens":0,)"
                  R"("output_tokens":1})"));
  EXPECT_EQ(end, Text(0, " two") + BlockStop(0) +
                     Said("message_delta",
                          R"(,"delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":3,)"
                          R"("cache_creation_input_tokens":0,"cache_read_input_tokens":32,"output_tokens":2})"));
}

TEST(MessageResume, BlocksHaveTheIndicesOfTheClient) {
  Fixture f;
  Attempt(f, Opening("m1", 7) + BlockStart(0) + Text(0, "one") + BlockStop(0) + BlockStart(1) + Text(1, "two"));
  GoOn(f);
  EXPECT_EQ(Attempt(f, Opening("m2", 9) + BlockStart(0) + Text(0, " three") + BlockStop(0) + BlockStart(1) +
                           Text(1, "four") + BlockStop(1) + MessageEnd(2) + kEndOfMessage),
            Text(1, " three") + BlockStop(1) + BlockStart(2) + Text(2, "four") + BlockStop(2) + MessageEnd(4) +
                kEndOfMessage);
}

TEST(MessageResume, ABlockThatTheClientSawTheEndOfIsNotOpenedAgain) {
  Fixture f;
  Attempt(f, Opening("m1", 7) + BlockStart(0) + Text(0, "one") + BlockStop(0));
  GoOn(f);
  EXPECT_EQ(Attempt(f, Opening("m2", 9) + BlockStart(0) + Text(0, "two") + BlockStop(0) + MessageEnd(1)),
            BlockStart(1) + Text(1, "two") + BlockStop(1) + MessageEnd(2));
}

TEST(MessageResume, AnAttemptWithNothingToAddEndsTheOpenBlock) {
  Fixture f;
  Attempt(f, Opening("m1", 7) + BlockStart(0) + Text(0, "one"));
  GoOn(f);
  EXPECT_EQ(Attempt(f, Opening("m2", 9) + MessageEnd(0) + kEndOfMessage), BlockStop(0) + MessageEnd(1) + kEndOfMessage);
}

TEST(MessageResume, ABlockOfAnotherKindEndsTheOpenOne) {
  Fixture f;
  Attempt(f, Opening("m1", 7) + BlockStart(0) + Text(0, "one"));
  GoOn(f);
  const std::string tool = R"({"type":"tool_use","id":"t","name":"look","input":{}})";
  EXPECT_EQ(Attempt(f, Opening("m2", 9) + BlockStart(0, tool)), BlockStop(0) + BlockStart(1, tool));
  EXPECT_TRUE(f.state.other_text) << "no third engine can go on";
}

TEST(MessageResume, WhiteSpaceThatTheTemplateTrimsIsNotWrittenTwice) {
  Fixture f;
  Attempt(f, Opening("m1", 7) + BlockStart(0) + Text(0, "one "));
  GoOn(f);
  EXPECT_EQ(f.state.PromptText(), "one");
  EXPECT_EQ(Attempt(f, Opening("m2", 9) + BlockStart(0) + Text(0, " ") + Text(0, "two")), Text(0, "two"));
  GoOn(f);
  EXPECT_EQ(f.state.text.text(), "one two");
}

TEST(MessageResume, AnAttemptThatDiesInItsOpeningChangesNothing) {
  Fixture f;
  Attempt(f, Opening("m1", 7) + BlockStart(0) + Text(0, "one"));
  GoOn(f);
  EXPECT_EQ(Attempt(f, Opening("m2", 9) + BlockStart(0)), "");
  GoOn(f);
  EXPECT_EQ(Attempt(f, Opening("m3", 9) + BlockStart(5) + Text(5, " two")), Text(0, " two"));
}

TEST(MessageResume, ThinkingAndCallsOfToolsAreMoreThanText) {
  for (const char* block : {R"({"type":"thinking","thinking":""})", R"({"type":"tool_use","name":"","input":{}})"}) {
    Fixture f;
    Attempt(f, Opening("m1", 7) + BlockStart(0) + Text(0, "one") + BlockStop(0) + BlockStart(1, block));
    EXPECT_TRUE(f.state.other_text) << block;
  }
  Fixture f;
  Attempt(f, Opening("m1", 7) + BlockStart(0) + Text(0, "one"));
  EXPECT_FALSE(f.state.other_text);
}

TEST(MessageResume, AMessageWithAllItsTokensIsClosedHere) {
  Fixture f;
  Attempt(f, Opening("m1", 7) + BlockStart(0) + Text(0, "one"));
  EXPECT_EQ(f.state.shown.message.Closing("length", Tokens(1)),
            "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n"
            "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"max_tokens\","
            "\"stop_sequence\":null},\"usage\":{\"output_tokens\":1}}\n\n"
            "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n");
  EXPECT_EQ(f.state.shown.message.Closing("", Tokens(1)), "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n");
}

TEST(MessageResume, AnAbsurdIndexStaysWithinBounds) {
  Fixture f;
  Attempt(f,
          Opening("m1", 7) +
              Said("content_block_start", R"(,"index":9223372036854775807,"content_block":{"type":"text","text":""})") +
              Text(0, "one"));
  GoOn(f);
  EXPECT_EQ(Attempt(f, BlockStart(-3) + Text(0, " two")), Text(1 << 20, " two"));
}

}  // namespace
}  // namespace penstock
