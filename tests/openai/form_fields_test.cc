#include "router/openai/passed/form_fields.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

constexpr absl::string_view kType = "multipart/form-data; boundary=\"x y\"";

std::string Part(absl::string_view name, absl::string_view content, absl::string_view more = "") {
  return absl::StrCat("--x y\r\nContent-Disposition: form-data; name=\"", name, "\"", more, "\r\n\r\n", content,
                      "\r\n");
}

struct Found {
  std::string model;
  bool twice = false;
  bool any_prompt = false;
  int64_t words = 0;
  std::string error;
};

Found Read(const std::string& body, size_t slice = 1 << 20, absl::string_view type = kType) {
  const std::vector<std::string> prompts = {"prompt"};
  FormFields fields(body, type, "model", prompts);
  for (int i = 0; !fields.Advance(slice); ++i) EXPECT_LT(i, 100'000);
  Found found;
  if (fields.error()) found.error = fields.error()->message;
  if (fields.model_at()) found.model = body.substr(fields.model_at()->begin, fields.model_at()->size());
  found.twice = fields.twice();
  found.any_prompt = fields.any_prompt();
  found.words = fields.text().words;
  return found;
}

TEST(FormFields, NamesTheModelAndCountsThePromptInSlicesOfAnySize) {
  const std::string body = absl::StrCat("preamble\r\n", Part("file", "\r\n--x \r\n--x", "; filename=\"a\""),
                                        Part("model", "whisper"), Part("prompt", "two words"), "--x y--\r\nepilogue");
  for (size_t slice = 1; slice < 64; ++slice) {
    const Found found = Read(body, slice);
    EXPECT_EQ(found.error, "") << slice;
    EXPECT_EQ(found.model, "whisper");
    EXPECT_TRUE(found.any_prompt);
    EXPECT_EQ(found.words, 2);
    EXPECT_FALSE(found.twice);
  }
}

TEST(FormFields, AFileIsNoField) { EXPECT_EQ(Read(Part("model", "x", "; filename=\"m\"") + "--x y--").model, ""); }

TEST(FormFields, AModelThatOccursTwiceIsSeen) {
  EXPECT_TRUE(Read(Part("model", "a") + Part("model", "b") + "--x y--").twice);
}

TEST(FormFields, AnEmptyFieldHasNoBytes) {
  const Found found = Read(Part("model", "") + "--x y--");
  EXPECT_EQ(found.error, "");
  EXPECT_EQ(found.model, "");
}

TEST(FormFields, EscapesAndTokensOfNamesAreRead) {
  const std::string token = "--x y\r\ncontent-disposition:form-data;name=model\r\n\r\nm\r\n--x y--";
  EXPECT_EQ(Read(token).model, "m");
  const std::string escaped = "--x y\r\nContent-Disposition: form-data; name=\"mo\\del\"\r\n\r\nm\r\n--x y--";
  EXPECT_EQ(Read(escaped).model, "m");
}

TEST(FormFields, AHeadThatReadersTakeInDifferentWaysIsRefused) {
  const auto error = [](const std::string& head) {
    return Read(absl::StrCat("--x y\r\n", head, "\r\n\r\nm\r\n--x y--")).error;
  };
  EXPECT_EQ(error("Content-Disposition: form-data; name=\"model\"\r\nContent-Type: text/plain"), "");
  for (const char* head :
       {"Content-Disposition: form-data; name=\"a\"; name=\"model\"",
        "Content-Disposition: form-data; name=\"model\"; NAME=a", "Content-Disposition: form-data; name*=utf-8''model",
        "Content-Disposition: form-data; name=\"a\"; name*=utf-8''model",
        "Content-Disposition: form-data; name=a\r\ncontent-disposition: form-data; name=model",
        "Content-Disposition: form-data;\r\n name=\"model\"", "Content-Disposition: form-data;\r\n\tname=\"model\"",
        " Content-Disposition: form-data; name=\"model\"", "Content-Disposition form-data",
        ": form-data; name=\"model\"", "A: b\nContent-Disposition: form-data; name=\"model\""}) {
    EXPECT_NE(error(head), "") << head;
  }
}

TEST(FormFields, FaultsAreNamed) {
  EXPECT_NE(Read("").error, "");
  EXPECT_NE(Read("--x y").error, "");
  EXPECT_NE(Read("--x y\r\nno head").error, "");
  EXPECT_NE(Read("--x y junk\r\n\r\n\r\n--x y--").error, "");
  EXPECT_NE(Read(Part("model", "m")).error, "");
  EXPECT_NE(Read("--x y--", 100, "multipart/form-data").error, "");
  EXPECT_NE(Read("--x y--", 100, "multipart/form-data; boundary=").error, "");
  std::string many;
  for (size_t i = 0; i <= FormFields::kMostParts; ++i) many += Part("a", "b");
  EXPECT_NE(Read(many + "--x y--").error, "");
  EXPECT_NE(
      Read(absl::StrCat("--x y\r\nA: ", std::string(FormFields::kLongestPartHead, 'a'), "\r\n\r\n\r\n--x y--")).error,
      "");
}

TEST(FormFields, ABoundaryLineHasLittlePadding) {
  const auto error = [](size_t padding) {
    return Read(absl::StrCat("--x y", std::string(padding, ' '),
                             "\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nm\r\n--x y--"))
        .error;
  };
  EXPECT_EQ(error(FormFields::kLongestPadding), "");
  EXPECT_NE(error(FormFields::kLongestPadding + 1), "");
  EXPECT_NE(error(1 << 20), "");
}

TEST(FormFields, AFormWithoutPartsIsWhole) { EXPECT_EQ(Read("--x y--\r\n").error, ""); }

}  // namespace
}  // namespace penstock
