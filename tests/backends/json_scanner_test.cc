#include "backends/dialect/json_scanner.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <random>

#include "tests/backends/recording.h"

namespace penstock {
namespace {

bool IsObject(absl::string_view text) {
  JsonScanner scanner(text);
  return scanner.WholeObject([&](absl::string_view) { return scanner.Skip(); });
}

TEST(JsonScanner, MembersAreVisitedInOrderAndSkippedWhole) {
  JsonScanner scanner(R"( { "a" : [1, {"x":"]}"}, null] , "b":"q\"}", "c":-1.5e3 } )");
  std::string keys;
  EXPECT_TRUE(scanner.WholeObject([&](absl::string_view key) {
    keys.append(key.data(), key.size());
    return scanner.Skip();
  }));
  EXPECT_EQ(keys, "abc");
}

TEST(JsonScanner, TextsAreTakenAsTheyStandOrWithTheirEscapesUndone) {
  JsonScanner scanner(R"({"raw":"a\nb","plain":"a\u00e9\\","number":12,"other":"12"})");
  absl::string_view raw;
  std::string plain;
  int64_t number = 0, other = 7;
  EXPECT_TRUE(scanner.WholeObject([&](absl::string_view key) {
    if (key == "raw") return scanner.TakeString(&raw);
    if (key == "plain") return scanner.CopyString(&plain);
    return scanner.CopyInt(key == "number" ? &number : &other);
  }));
  EXPECT_EQ(raw, "a\\nb");
  EXPECT_EQ(plain, "aé\\");
  EXPECT_EQ(number, 12);
  EXPECT_EQ(other, 7);
}

TEST(JsonScanner, WhatIsNotJsonIsRefused) {
  for (const char* text : {"", "{", "{}}", "{} x", "[]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{,}",
                           "{\"a\":1 \"b\":2}", "{\"a\":[1,]}", "{\"a\":[1}", "{\"a\":nul}", "{\"a\":\"b}",
                           "{\"a\":\"b\\\"}", "{a:1}", "{\"a\":\"\x01\"}", "{\"a\":\"line\nbreak\"}", "{\"a\":+}x"}) {
    EXPECT_FALSE(IsObject(text)) << text;
  }
}

TEST(JsonScanner, DeepNestingIsRefusedInsteadOfFollowed) {
  EXPECT_TRUE(IsObject("{\"a\":" + std::string(100, '[') + std::string(100, ']') + "}"));
  EXPECT_FALSE(IsObject("{\"a\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}"));
}

TEST(JsonScanner, NoPrefixOfAnObjectIsAnObject) {
  const std::string whole = Split(RecordedBody("chat-stream-usage"))[7].data;
  ASSERT_TRUE(IsObject(whole));
  for (size_t size = 0; size < whole.size(); ++size) {
    const std::string cut = whole.substr(0, size);  // Its own memory: the sanitizer sees a read beyond the end.
    ASSERT_FALSE(IsObject(cut)) << size;
  }
}

TEST(JsonScanner, AcceptsWhateverACompleteParserAccepts) {
  const unsigned seed = 20260822;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  std::vector<std::string> events;
  for (const char* name : {"chat-stream-usage", "completions-stream", "responses-stream", "raw-stream-kv-exhausted"}) {
    for (const OwnedEvent& event : Split(RecordedBody(name))) events.push_back(event.data);
  }
  const std::string alphabet = "{}[]\",:\\ 0ntx\n";
  int accepted = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text = events[random() % events.size()];
    for (unsigned edits = 1 + random() % 2; edits > 0; --edits) {
      const size_t at = random() % text.size();
      if (random() % 2 == 0) {
        text[at] = alphabet[random() % alphabet.size()];
      } else {
        text.erase(at, 1);
      }
    }
    if (!nlohmann::json::parse(text, nullptr, false).is_object()) continue;
    ++accepted;
    ASSERT_TRUE(IsObject(text)) << text;
  }
  EXPECT_GT(accepted, 1000);
}

TEST(JsonScanner, AStringEndsAtTheFirstQuoteThatIsNotEscaped) {
  // Byte by byte: what a backslash escapes is passed over, and a control character ends no string.
  const auto inside_of = [](const std::string& text) -> std::optional<size_t> {
    for (size_t at = 1; at < text.size(); ++at) {
      if (text[at] == '"') return at - 1;
      if (text[at] == '\x01') return std::nullopt;
      if (text[at] == '\\') ++at;
    }
    return std::nullopt;
  };
  std::mt19937_64 random(13);
  for (int trial = 0; trial < 20'000; ++trial) {
    const std::string letters = trial % 2 == 0 ? "\\\\\\\"a\x01" : "\\aaaaaaaaaaaaaa";
    std::string text = "\"";
    for (uint64_t count = random() % 70; count > 0; --count) text += letters[random() % letters.size()];
    text += trial % 3 == 0 ? "" : "\"";
    absl::string_view raw;
    JsonScanner scanner(text);
    const std::optional<size_t> size = inside_of(text);
    ASSERT_EQ(scanner.TakeString(&raw), size.has_value()) << text;
    ASSERT_EQ(raw, size ? text.substr(1, *size) : "") << text;
  }
}

}  // namespace
}  // namespace penstock
