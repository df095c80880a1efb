#include "router/openai/request/json_cursor.h"

#include <gtest/gtest.h>

#include <string>

namespace penstock {
namespace {

TEST(JsonCursor, AStringEndsAtItsOwnQuoteWhateverItsLength) {
  for (size_t length = 0; length < 70; ++length) {
    for (size_t escape = 0; escape <= length; ++escape) {
      const std::string inside = std::string(escape, 'x') + "\\\"" + std::string(length - escape, '{');
      const std::string document = "{\"k\":\"" + inside + "\",\"n\":7}";
      JsonObject members(ValueAt(document, 0));
      const auto first = members.Next();
      ASSERT_TRUE(first.has_value());
      ASSERT_EQ(first->value.inside(), inside);
      const auto second = members.Next();
      ASSERT_TRUE(second.has_value());
      ASSERT_EQ(second->value.Integer(), 7);
      ASSERT_FALSE(members.Next().has_value());
    }
  }
}

TEST(JsonCursor, ABackslashBeforeABackslashDoesNotEscapeTheQuote) {
  for (size_t pairs = 0; pairs < 20; ++pairs) {
    std::string inside;
    for (size_t i = 0; i < pairs; ++i) inside += "\\\\";
    const std::string document = "[\"" + inside + "\",2]";
    JsonArray elements(ValueAt(document, 0));
    ASSERT_EQ(elements.Next()->inside(), inside);
    ASSERT_EQ(elements.Next()->Integer(), 2);
  }
}

TEST(JsonCursor, AnUnendedStringStaysWithinTheDocument) {
  const std::string document = "\"abcdefghijklmnopqrstuvwxyz\\";
  EXPECT_EQ(ValueAt(document, 0).span.end, document.size());
}

}  // namespace
}  // namespace penstock
