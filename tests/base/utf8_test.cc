#include "base/utf8.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <string>

namespace penstock {
namespace {

Utf8Character ReadCharacter(const std::string& bytes) {
  const auto* const at = reinterpret_cast<const unsigned char*>(bytes.data());
  return ReadUtf8(at, at + bytes.size());
}

TEST(Utf8, EveryPointReadsBackAsItWasWritten) {
  for (uint32_t point = 0; point <= 0x10FFFF; ++point) {
    if (point >= 0xD800 && point <= 0xDFFF) continue;
    std::string text;
    AppendUtf8(point, &text);
    ASSERT_EQ(static_cast<int>(text.size()), Utf8Length(point)) << point;
    const Utf8Character read = ReadCharacter(text + "x");
    ASSERT_EQ(read.point, point);
    ASSERT_EQ(read.length, Utf8Length(point)) << point;
  }
}

// Every text of three bytes, with a fourth byte for the longest characters.
TEST(Utf8, AgreesWithSimdjsonOnEveryShortText) {
  for (uint32_t bytes = 0x800000; bytes < 0x1000000; ++bytes) {
    std::string text = {static_cast<char>(bytes >> 16), static_cast<char>(bytes >> 8), static_cast<char>(bytes)};
    if (bytes >> 16 >= 0xF0) text += '\x80';
    const int length = ReadCharacter(text).length;
    const bool first_is_good = length > 0 && simdjson::validate_utf8(text.data(), static_cast<size_t>(length));
    ASSERT_EQ(length > 0, first_is_good) << std::hex << bytes;
    ASSERT_FALSE(length == 0 && simdjson::validate_utf8(text)) << std::hex << bytes;
  }
}

TEST(Utf8, ACharacterThatTheEndCutsIsNone) {
  for (const std::string whole : {"\xC3\xA9", "\xE4\xBD\xA0", "\xF0\x9F\x98\x80"}) {
    EXPECT_EQ(ReadCharacter(whole).length, static_cast<int>(whole.size()));
    for (size_t size = 1; size < whole.size(); ++size) EXPECT_EQ(ReadCharacter(whole.substr(0, size)).length, 0);
  }
}

}  // namespace
}  // namespace penstock
