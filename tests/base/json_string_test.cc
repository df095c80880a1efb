#include "base/json_string.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <string>

namespace penstock {
namespace {

JsonEscape Read(const std::string& text) { return ReadJsonEscape(text.data(), text.data() + text.size()); }

TEST(JsonString, EveryEscapeHasOneMeaning) {
  using Kind = JsonEscape::Kind;
  const struct {
    std::string text;
    Kind kind;
    int length;
    uint32_t point;
  } rows[] = {
      {R"(\n)", Kind::kCharacter, 2, '\n'},
      {R"(\")", Kind::kCharacter, 2, '"'},
      {R"(\/x)", Kind::kCharacter, 2, '/'},
      {R"(\u0000)", Kind::kCharacter, 6, 0},
      {R"(\u00e9)", Kind::kCharacter, 6, 0xE9},
      {R"(\uD83D\uDE00)", Kind::kCharacter, 12, 0x1F600},
      {R"(\ud83d)", Kind::kLone, 6, 0xFFFD},
      {R"(\ud83d\u0041)", Kind::kLone, 6, 0xFFFD},
      {R"(\udc00\ud83d)", Kind::kLone, 6, 0xFFFD},
      {R"(\x41)", Kind::kBroken, 1, '\\'},
      {R"(\u12g4)", Kind::kBroken, 1, '\\'},
      {R"(\u123)", Kind::kBroken, 1, '\\'},
      {"\\", Kind::kBroken, 1, '\\'},
  };
  for (const auto& row : rows) {
    const JsonEscape escape = Read(row.text);
    EXPECT_EQ(escape.kind, row.kind) << row.text;
    EXPECT_EQ(escape.length, row.length) << row.text;
    EXPECT_EQ(escape.point, row.point) << row.text;
  }
}

TEST(JsonString, PlainTextEndsAtAQuoteABackslashOrAControlCharacter) {
  for (size_t length = 0; length < 50; ++length) {
    for (const char end : {'"', '\\', '\n', '\x1f', '\0'}) {
      const std::string text = std::string(length, 'a') + end + std::string(20, 'b');
      EXPECT_EQ(SkipPlainJson(text.data(), text.data() + text.size()), text.data() + length);
    }
    const std::string plain(length, '\xFF');
    EXPECT_EQ(SkipPlainJson(plain.data(), plain.data() + length), plain.data() + length);
  }
}

TEST(JsonString, AgreesWithAParserOnRandomLiterals) {
  std::mt19937_64 random(11);
  const std::string pieces[] = {"a",         R"(\n)", R"(\u00e9)", R"(\ud83d\ude00)",
                                R"(\ud83d)", R"(\x)", "\xC3\xA9",  R"(\\)"};
  for (int trial = 0; trial < 5'000; ++trial) {
    std::string inside;
    for (uint64_t count = random() % 6; count > 0; --count) inside += pieces[random() % std::size(pieces)];
    const auto parsed = nlohmann::json::parse("\"" + inside + "\"", nullptr, false);
    std::string text;
    ASSERT_EQ(AppendUnescaped(inside, &text), parsed.is_string()) << inside;
    ASSERT_EQ(UnescapeJson(inside), parsed.is_string() ? parsed.get<std::string>() : inside) << inside;
  }
}

TEST(JsonString, HalfASurrogatePairIsWholeAndABrokenEscapeIsNot) {
  for (const char* whole : {"", "plain", R"(a\nb\"\\)", R"(\ud83d)", R"(\ude00x)", R"(\ud83d\ude00\u00e9)"}) {
    EXPECT_TRUE(EscapesAreWhole(whole)) << whole;
  }
  for (const char* broken : {"\\", R"(\q)", R"(\x41)", R"(\u12)", R"(\u12g4)", R"(fine\n\u)"}) {
    EXPECT_FALSE(EscapesAreWhole(broken)) << broken;
  }
}

TEST(JsonString, LongLiteralsReadAsTheirPiecesWhereverTheseStand) {
  std::mt19937_64 random(12);
  const struct {
    std::string raw;
    std::string text;
  } pieces[] = {{"a", "a"},
                {R"(\n)", "\n"},
                {R"(\")", "\""},
                {R"(\\)", "\\"},
                {R"(\u00e9)", "\xC3\xA9"},
                {R"(\u20ac)", "\xE2\x82\xAC"},
                {R"(\ud83d\ude00)", "\xF0\x9F\x98\x80"},
                {"sixteen plain ch", "sixteen plain ch"}};
  for (int trial = 0; trial < 500; ++trial) {
    std::string raw;
    std::string expected;
    for (uint64_t count = random() % 300; count > 0; --count) {
      const auto& piece = pieces[random() % std::size(pieces)];
      raw += piece.raw;
      expected += piece.text;
    }
    std::string text;
    ASSERT_TRUE(AppendUnescaped(raw, &text)) << raw;
    ASSERT_EQ(text, expected) << raw;
    ASSERT_TRUE(EscapesAreWhole(raw)) << raw;
    // A broken escape in front stays broken, whatever follows; so does one that the end cuts.
    ASSERT_FALSE(EscapesAreWhole(R"(\x)" + raw)) << raw;
    ASSERT_FALSE(EscapesAreWhole(raw + R"(\u12)")) << raw;
    ASSERT_FALSE(AppendUnescaped(raw + R"(\ud83d)", &text)) << raw;
  }
}

}  // namespace
}  // namespace penstock
