#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/backends/recording.h"

namespace penstock {
namespace {

TEST(SseSplitter, AnEventEndsAtABlankLineWithEitherLineEnding) {
  const auto events = Split("data: a\n\ndata: b\r\n\r\n");
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].data, "a");
  EXPECT_EQ(events[0].raw, "data: a\n\n");
  EXPECT_EQ(events[1].data, "b");
  EXPECT_EQ(events[1].raw, "data: b\r\n\r\n");
}

TEST(SseSplitter, TheMemoryOfALongEventIsGivenBack) {
  SseSplitter splitter;
  splitter.Feed("data: " + std::string(4 << 20, 'x') + "\n\n");
  ASSERT_TRUE(splitter.Next());
  EXPECT_GE(splitter.memory(), size_t{4} << 20);
  splitter.Feed("data: a\n\n");
  EXPECT_LT(splitter.memory(), size_t{1} << 20);
  EXPECT_EQ(splitter.Next()->data, "a");
}

TEST(SseSplitter, OwnedBytesAreCopiedOnlyBehindAnUnfinishedEvent) {
  SseSplitter splitter;
  splitter.Feed("data: a\n\n");
  ASSERT_TRUE(splitter.Next());
  std::string owned = "data: " + std::string(1000, 'x') + "\n\ndata: b";
  const char* const at = owned.data();
  splitter.FeedOwned(std::move(owned));
  EXPECT_EQ(splitter.Next()->raw.data(), at);
  EXPECT_FALSE(splitter.Next());
  EXPECT_EQ(splitter.Rest(), "data: b");
  splitter.FeedOwned("c\n\ndata: d\n\n");
  EXPECT_EQ(splitter.Next()->data, "bc");
  EXPECT_EQ(splitter.Next()->data, "d");
  EXPECT_FALSE(splitter.Next());
}

TEST(SseSplitter, TheSpaceAfterTheColonIsOptionalAndOnlyOneIsDropped) {
  const auto events = Split("data:x\n\ndata:  y\n\n");
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].data, "x");
  EXPECT_EQ(events[1].data, " y");
}

TEST(SseSplitter, EventLinesGiveTheNameAndOtherFieldsArePassedOver) {
  const auto events = Split("id: 7\nevent: response.created\nretry: 5\ndata: {}\n\n");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].name, "response.created");
  EXPECT_EQ(events[0].data, "{}");
  EXPECT_FALSE(events[0].comment);
}

TEST(SseSplitter, CommentsAndStrayBlankLinesAreMarkedAndKeepTheirBytes) {
  const auto events = Split(":\n\n: ping\n\n\ndata: a\n\n");
  ASSERT_EQ(events.size(), 4u);
  EXPECT_TRUE(events[0].comment);
  EXPECT_EQ(events[0].raw, ":\n\n");
  EXPECT_TRUE(events[1].comment);
  EXPECT_TRUE(events[2].comment);
  EXPECT_EQ(events[2].raw, "\n");
  EXPECT_EQ(events[3].data, "a");
}

TEST(SseSplitter, ACommentBesideDataIsNotAComment) {
  const auto events = Split(": note\ndata: a\n\n");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_FALSE(events[0].comment);
  EXPECT_EQ(events[0].data, "a");
}

TEST(SseSplitter, ALineThatIsNoFieldIsToldAsItMayHaveBeenData) {
  for (const std::string line : {"\xff"
                                 "data: {}",
                                 "data {}", "not an event", "{\"error\": 1}", "<p>a: b</p>"}) {
    EXPECT_TRUE(Split(line + "\n\n").at(0).garbled) << line;
    EXPECT_TRUE(Split(line + "\ndata: {}\n\n").at(0).garbled) << line;
  }
  for (const std::string line :
       {"", ": {}", "id", "id: 7", "retry:5", "event: x", "data", "ids: 7", "x", "x-trace: {}"}) {
    EXPECT_FALSE(Split(line + "\ndata: {}\n\n").at(0).garbled) << line;
  }
}

TEST(SseSplitter, SeveralDataLinesAreJoinedByLineBreaks) {
  const auto events = Split("data: a\ndata: b\ndata: c\n\n");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].data, "a\nb\nc");
}

TEST(SseSplitter, ALoneReturnEndsALineToo) {
  for (size_t piece : {1, 2, 3, 100}) {
    const auto events = Split("data: a\r\rdata: b\rdata: c\r\r\r: d\r\rdata: [DONE]\r\r", piece);
    ASSERT_EQ(events.size(), 5u) << piece;
    EXPECT_EQ(events[0].data, "a");
    EXPECT_EQ(events[1].data, "b\nc");
    EXPECT_TRUE(events[2].comment);
    EXPECT_TRUE(events[3].comment);
    EXPECT_EQ(events[4].data, "[DONE]");
    EXPECT_EQ(events[4].raw, "data: [DONE]\r\r");
  }
}

TEST(SseSplitter, ALineEndMayComeInTwoPieces) {
  SseSplitter splitter;
  splitter.Feed("data: a\r");
  EXPECT_FALSE(splitter.Next().has_value());
  splitter.Feed("\n\r");
  EXPECT_FALSE(splitter.Next().has_value());
  splitter.Feed("\ndata: b\r\n\r\n");
  EXPECT_EQ(splitter.Next()->raw, "data: a\r\n\r\n");
  EXPECT_EQ(splitter.Next()->raw, "data: b\r\n\r\n");
  EXPECT_FALSE(splitter.Next().has_value());
}

// A search from the start of the line for each piece would read 137 GB.
TEST(SseSplitter, ALongLineInSmallPiecesIsSearchedOnce) {
  SseSplitter splitter;
  const std::string piece(64, 'x');
  splitter.Feed("data: ");
  for (size_t size = 0; size < size_t{4} << 20; size += piece.size()) {
    splitter.Feed(piece);
    ASSERT_FALSE(splitter.Next().has_value());
  }
  splitter.Feed("\n\n");
  EXPECT_EQ(splitter.Next()->data.size(), size_t{4} << 20);
}

TEST(SseSplitter, AByteOrderMarkIsNoPartOfTheFirstLine) {
  const std::string mark = "\xEF\xBB\xBF";
  for (size_t piece : {1, 100}) {
    const auto events = Split(mark + "data: a\n\n" + mark + "data: b\n\n", piece);
    ASSERT_EQ(events.size(), 2u);
    EXPECT_EQ(events[0].data, "a");
    EXPECT_FALSE(events[0].garbled);
    EXPECT_TRUE(events[1].garbled);
  }
}

TEST(SseSplitter, RestIsWhatHasNoEndYet) {
  SseSplitter splitter;
  splitter.Feed("data: a\n\ndata: b");
  EXPECT_EQ(splitter.Next()->data, "a");
  EXPECT_FALSE(splitter.Next().has_value());
  EXPECT_EQ(splitter.Rest(), "data: b");
  splitter.Feed("c\n");
  EXPECT_FALSE(splitter.Next().has_value());
  splitter.Feed("\n");
  EXPECT_EQ(splitter.Next()->data, "bc");
  EXPECT_EQ(splitter.Rest(), "");
}

TEST(SseSplitter, AnEventOfVeryManyLinesIsGarbled) {
  for (const size_t piece : {1, 100'000}) {
    std::string text;
    for (int i = 0; i < SseSplitter::kMostLines; ++i) text += i % 2 == 0 ? ":\n" : "data:\n";
    const auto most = Split(text + "\n", piece);
    ASSERT_EQ(most.size(), 1u);
    EXPECT_FALSE(most[0].garbled);
    EXPECT_TRUE(Split(text + ":\n\n", piece).front().garbled);
  }
}

class SplitRecording : public testing::TestWithParam<const char*> {};

TEST_P(SplitRecording, GivesTheSameEventsAndAllBytesForEverySizeOfPieces) {
  const std::string body = RecordedBody(GetParam());
  ASSERT_FALSE(body.empty());
  const auto whole = Split(body);
  for (size_t piece : {1, 2, 3, 7, 64, 1000}) {
    const auto pieces = Split(body, piece);
    ASSERT_EQ(pieces.size(), whole.size()) << "pieces of " << piece;
    std::string raw;
    for (size_t i = 0; i < whole.size(); ++i) {
      EXPECT_EQ(pieces[i].data, whole[i].data);
      EXPECT_EQ(pieces[i].name, whole[i].name);
      raw += pieces[i].raw;
    }
    EXPECT_EQ(raw, body) << "pieces of " << piece;
  }
}

INSTANTIATE_TEST_SUITE_P(LlamaServer, SplitRecording,
                         testing::Values("chat-stream", "chat-stream-usage", "chat-stream-n2", "completions-stream",
                                         "raw-stream-kv-exhausted", "responses-stream", "stream-sse-ping",
                                         "output-invalid-utf8-completions-stream"));

}  // namespace
}  // namespace penstock
