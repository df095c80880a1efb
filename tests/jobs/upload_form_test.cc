// The form of an upload.
#include "router/jobs/api/upload_form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace penstock::jobs {
namespace {

using ::testing::HasSubstr;

std::string Field(absl::string_view name, absl::string_view value) {
  return absl::StrCat("--b\r\nContent-Disposition: form-data; name=\"", name, "\"\r\n\r\n", value, "\r\n");
}

std::string File(absl::string_view bytes, absl::string_view name = "a.jsonl") {
  return absl::StrCat("--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"", name, "\"\r\n\r\n", bytes,
                      "\r\n");
}

struct Read {
  std::string bytes;
  FileFacts facts;
  ApiError error;
};

Read ReadForm(absl::string_view body, size_t piece = 5) {
  UploadForm form("b");
  Read read;
  while (!body.empty()) {
    if (auto error = form.Take(body.substr(0, piece), &read.bytes)) {
      read.error = *error;
      return read;
    }
    body.remove_prefix(std::min(piece, body.size()));
  }
  auto facts = form.Finish();
  if (ApiError* error = std::get_if<ApiError>(&facts)) {
    read.error = *error;
  } else {
    read.facts = std::get<FileFacts>(facts);
  }
  return read;
}

TEST(UploadForm, FieldsMayComeInAnyOrder) {
  for (const std::string& body : {Field("purpose", "batch") + File("bytes") + "--b--",
                                  File("bytes") + Field("other", "x") + Field("purpose", "batch") + "--b--\r\n"}) {
    const Read read = ReadForm(body);
    EXPECT_EQ(read.error.message, "");
    EXPECT_EQ(read.bytes, "bytes");
    EXPECT_EQ(read.facts.purpose, "batch");
    EXPECT_EQ(read.facts.filename, "a.jsonl");
    EXPECT_EQ(read.facts.expires_after, std::nullopt);
  }
}

TEST(UploadForm, ALifeHasAnAnchorAndBounds) {
  const std::string file = File("x") + Field("purpose", "batch");
  const std::string anchor = Field("expires_after[anchor]", "created_at");
  const auto seconds = [](absl::string_view count) { return Field("expires_after[seconds]", count); };
  EXPECT_EQ(ReadForm(file + anchor + seconds("3600") + "--b--").facts.expires_after, Duration::Seconds(3600));
  EXPECT_EQ(ReadForm(file + anchor + "--b--").error.param, "expires_after[seconds]");
  EXPECT_EQ(ReadForm(file + seconds("3600") + "--b--").error.param, "expires_after[anchor]");
  for (const char* bad : {"3599", "2592001", "x", "-1"}) {
    EXPECT_EQ(ReadForm(file + anchor + seconds(bad) + "--b--").error.param, "expires_after[seconds]") << bad;
  }
  for (const char* name : {"expires_after", "expires_after[second]"}) {
    const ApiError error = ReadForm(file + Field(name, R"({"anchor": "created_at", "seconds": 3600})") + "--b--").error;
    EXPECT_EQ(error.param, name);
    EXPECT_THAT(error.message, HasSubstr("'expires_after[anchor]' and 'expires_after[seconds]'"));
  }
}

TEST(UploadForm, FaultsNameTheirField) {
  EXPECT_EQ(ReadForm(Field("purpose", "batch") + "--b--").error.param, "file");
  EXPECT_EQ(ReadForm(File("x") + "--b--").error.param, "purpose");
  EXPECT_THAT(ReadForm(File("x") + Field("purpose", "x") + "--b--").error.message, HasSubstr("'x' is not one of"));
  EXPECT_THAT(ReadForm(File("") + Field("purpose", "batch") + "--b--").error.message, HasSubstr("empty"));
  EXPECT_THAT(ReadForm(File("x") + File("y") + "--b--").error.message, HasSubstr("more than one file"));
  EXPECT_EQ(ReadForm(Field("purpose", "a") + Field("purpose", "b") + "--b--").error.code, "duplicate_key");
  EXPECT_EQ(ReadForm(Field("purpose", std::string(5000, 'x')) + "--b--").error.param, "purpose");
  EXPECT_THAT(ReadForm(File("x", std::string(300, 'n')) + "--b--").error.message, HasSubstr("longer than 255"));
  EXPECT_THAT(ReadForm(File("x")).error.message, HasSubstr("ends before its last boundary"));
  EXPECT_THAT(ReadForm("").error.message, HasSubstr("ends before its last boundary"));
  EXPECT_EQ(ReadForm("--bx").error.code, "malformed_request");
}

}  // namespace
}  // namespace penstock::jobs
