#include "backends/dialect/assembly/content_parts.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace penstock {
namespace {

std::optional<std::string> TextOf(absl::string_view json) {
  JsonScanner scanner(json);
  std::string all;
  const bool text =
      ForEachContentText(scanner, [&](absl::string_view part) { all.append(part.data(), part.size()).append("|"); });
  return text ? std::optional<std::string>(all) : std::nullopt;
}

TEST(ContentParts, ATextNullAndAListOfTextsAreText) {
  EXPECT_EQ(TextOf(R"("a\n")"), "a\\n|");
  EXPECT_EQ(TextOf("null"), "");
  EXPECT_EQ(TextOf("[]"), "");
  EXPECT_EQ(TextOf(R"([ {"type":"text","text":"a"} , {"text":"b","extra":null}, "c" ])"), "a|b|c|");
}

TEST(ContentParts, WhateverWouldBeLostIsNoText) {
  for (const char* other : {"5", "{}", R"({"text":"a"})", R"([{"type":"image"}])", R"([{"type":"text","text":7}])",
                            R"([{"type":"text","text":"a","annotations":[1]}])", "[null]", "[[]]", "[\"a\""}) {
    EXPECT_EQ(TextOf(other), std::nullopt) << other;
  }
}

}  // namespace
}  // namespace penstock
