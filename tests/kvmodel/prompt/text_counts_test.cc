#include <gtest/gtest.h>

#include <random>
#include <string>

#include "kvmodel/prompt/prompt_estimate.h"

namespace penstock {
namespace {

TEST(CountText, SplitsAsciiByKind) {
  const TextCounts counts = CountText("Hello, world! 42\n");
  EXPECT_EQ(counts.latin, 10);
  EXPECT_EQ(counts.words, 2);
  EXPECT_EQ(counts.digits, 2);
  EXPECT_EQ(counts.space, 3);
  EXPECT_EQ(counts.other, 2);
  EXPECT_EQ(counts.cjk, 0);
}

TEST(CountText, AWordMayHoldAccents) {
  const TextCounts counts = CountText("na\xC3\xAFve");
  EXPECT_EQ(counts.latin, 6);
  EXPECT_EQ(counts.words, 1);
}

TEST(CountText, OtherAlphabetsAreCountedInBytes) {
  const TextCounts counts = CountText("\xD0\xBF\xD1\x80\xD0\xB8 \xD0\xBC");  // Cyrillic, three letters and one.
  EXPECT_EQ(counts.script, 8);
  EXPECT_EQ(counts.words, 2);
  EXPECT_EQ(counts.space, 1);
}

TEST(CountText, ChineseJapaneseAndKoreanAreCountedInCharacters) {
  const TextCounts counts = CountText("\xE4\xBD\xA0\xE5\xA5\xBD\xE3\x80\x82\xE3\x81\x82\xED\x95\x9C\xF0\xA0\x80\x80");
  EXPECT_EQ(counts.cjk, 6);
  EXPECT_EQ(counts.words, 0);
  EXPECT_EQ(counts.other, 0);
}

TEST(CountText, EmojiAreOtherBytes) { EXPECT_EQ(CountText("\xF0\x9F\x98\x80").other, 4); }

TEST(CountText, BytesThatAreNotUtf8AreOther) {
  EXPECT_EQ(CountText("\xFF\xFE").other, 2);
  EXPECT_EQ(CountText("\xC0\x80").other, 2);          // Overlong.
  EXPECT_EQ(CountText("\xED\xA0\x80").other, 3);      // A surrogate.
  EXPECT_EQ(CountText("\xF4\x90\x80\x80").other, 4);  // Above U+10FFFF.
  EXPECT_EQ(CountText("\xE4\xBD").other, 2);          // Cut short.
}

TEST(CountText, LongRunsDoNotOverflow) {
  const TextCounts counts = CountText(std::string(200'000, 'a') + std::string(200'000, ' '));
  EXPECT_EQ(counts.latin, 200'000);
  EXPECT_EQ(counts.words, 1);
  EXPECT_EQ(counts.space, 200'000);
}

TEST(CountJsonString, ResolvesEscapes) {
  EXPECT_EQ(CountJsonString(R"(a\nb\t\"\\\/)"), CountText("a\nb\t\"\\/"));
  EXPECT_EQ(CountJsonString(R"(\u00e9t\u00E9)"), CountText("\xC3\xA9t\xC3\xA9"));
  EXPECT_EQ(CountJsonString(R"(\u4f60\u0041)"), CountText("\xE4\xBD\xA0"
                                                          "A"));
  EXPECT_EQ(CountJsonString(R"(\ud83d\ude00)"), CountText("\xF0\x9F\x98\x80"));
  EXPECT_EQ(CountJsonString(R"(\ud840\udc00)").cjk, 1);
}

TEST(CountJsonString, ALoneSurrogateIsAReplacementCharacter) {
  EXPECT_EQ(CountJsonString(R"(\ud83d)").other, 3);
  EXPECT_EQ(CountJsonString(R"(\ude00x)").other, 3);
  EXPECT_EQ(CountJsonString(R"(\ud83d\u0041)").latin, 1);
}

TEST(CountJsonString, BrokenEscapesAreCountedAsWritten) {
  EXPECT_EQ(CountJsonString("\\"), CountText("\\"));
  EXPECT_EQ(CountJsonString("\\u12"), CountText("\\u12"));
  EXPECT_EQ(CountJsonString("\\x"), CountText("\\x"));
}

// The slow definition: decode the whole string, then count.
std::string Utf8Of(uint32_t point) {
  std::string out;
  if (point < 0x80) {
    out += static_cast<char>(point);
  } else if (point < 0x800) {
    out += static_cast<char>(0xC0 | point >> 6);
    out += static_cast<char>(0x80 | (point & 0x3F));
  } else if (point < 0x10000) {
    out += static_cast<char>(0xE0 | point >> 12);
    out += static_cast<char>(0x80 | (point >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (point & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | point >> 18);
    out += static_cast<char>(0x80 | (point >> 12 & 0x3F));
    out += static_cast<char>(0x80 | (point >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (point & 0x3F));
  }
  return out;
}

std::string EscapeOf(uint32_t point) {
  char text[16];
  if (point < 0x10000) {
    std::snprintf(text, sizeof(text), "\\u%04x", point);
  } else {
    const uint32_t high = 0xD800 + ((point - 0x10000) >> 10);
    const uint32_t low = 0xDC00 + ((point - 0x10000) & 0x3FF);
    std::snprintf(text, sizeof(text), "\\u%04x\\u%04X", high, low);
  }
  return text;
}

TEST(CountJsonString, EqualsTheCountOfTheDecodedText) {
  std::mt19937 random(11);
  for (int trial = 0; trial < 500; ++trial) {
    std::string plain;
    std::string json;
    for (int i = 0; i < 60; ++i) {
      uint32_t point = random() % (1U << (1 + random() % 21));
      if (point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF)) point = 'x';
      plain += Utf8Of(point);
      const bool must_escape = point < 0x20 || point == '"' || point == '\\';
      json += must_escape || random() % 2 == 0 ? EscapeOf(point) : Utf8Of(point);
    }
    ASSERT_EQ(CountJsonString(json), CountText(plain)) << "seed 11, trial " << trial << ": " << json;
  }
}

TEST(CountText, EveryByteIsCountedOnceWhateverTheInput) {
  std::mt19937 random(12);
  for (int trial = 0; trial < 500; ++trial) {
    std::string bytes;
    for (int i = 0; i < 80; ++i) bytes += static_cast<char>(random());
    const TextCounts counts = CountText(bytes);
    const int64_t without_cjk = counts.latin + counts.script + counts.digits + counts.space + counts.other;
    ASSERT_LE(without_cjk + 3 * counts.cjk, 80) << "seed 12, trial " << trial;
    ASSERT_GE(without_cjk + 4 * counts.cjk, 80) << "seed 12, trial " << trial;
    CountJsonString(bytes);
  }
}

TEST(CountText, AsciiOfAnyLengthIsCountedAsByteByByte) {
  std::mt19937 random(13);
  for (size_t length = 0; length < 600; ++length) {
    std::string text;
    for (size_t i = 0; i < length; ++i) text += static_cast<char>(random() % 0x80);
    TextCounts slow;
    bool in_word = false;
    for (const char c : text) {
      const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      const bool digit = c >= '0' && c <= '9';
      const bool space = c <= ' ' || c == 0x7F;
      slow.words += letter && !in_word ? 1 : 0;
      in_word = letter;
      ++(letter ? slow.latin : digit ? slow.digits : space ? slow.space : slow.other);
    }
    ASSERT_EQ(CountText(text), slow) << "seed 13, length " << length;
  }
}

TEST(TextCounts, AddUp) {
  TextCounts sum = CountText("abc 1");
  TextCounts more = CountText("\xE4\xBD\xA0 \xD0\xBC!");
  more.messages = 2;
  more.exact_tokens = 4;
  more.tool_bytes = 5;
  sum += more;
  EXPECT_EQ(sum.latin, 3);
  EXPECT_EQ(sum.words, 2);
  EXPECT_EQ(sum.script, 2);
  EXPECT_EQ(sum.digits, 1);
  EXPECT_EQ(sum.space, 2);
  EXPECT_EQ(sum.cjk, 1);
  EXPECT_EQ(sum.other, 1);
  EXPECT_EQ(sum.messages, 2);
  EXPECT_EQ(sum.exact_tokens, 4);
  EXPECT_EQ(sum.tool_bytes, 5);
}

}  // namespace
}  // namespace penstock
