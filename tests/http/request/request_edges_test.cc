// Empty lines before requests, and fields that may come once.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "router/http/request/request_reader.h"

namespace penstock {
namespace {

using State = RequestReader::State;

const RequestReader::Limits kSmall{2048, 4096};

TEST(RequestEdges, EmptyLinesBeforeEachRequestAreBounded) {
  RequestReader reader(kSmall);
  std::string lines;
  for (int i = 0; i < RequestReader::kMaxEmptyLines; ++i) lines += "\r\n";
  for (const char* target : {"/a", "/b"}) {
    for (const char c : lines) {
      reader.Append(absl::string_view(&c, 1));
      ASSERT_EQ(reader.Advance(), State::kNeedMore);
    }
    EXPECT_TRUE(reader.Idle());
    reader.Append(absl::StrCat("GET ", target, " HTTP/1.1\r\nHost: h\r\n\r\n"));
    ASSERT_EQ(reader.Advance(), State::kDone);
    EXPECT_EQ(reader.Take().target, target);
  }
  reader.Append(lines + "\r\nGET /c HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(reader.Advance(), State::kFailed);
}

TEST(RequestEdges, ALoneCarriageReturnBehindTheLastEmptyLineIsNoEndlessWait) {
  RequestReader reader(kSmall);
  for (int i = 0; i < RequestReader::kMaxEmptyLines; ++i) reader.Append("\r\n");
  EXPECT_EQ(reader.Advance(), State::kNeedMore);
  reader.Append("\rX");
  EXPECT_EQ(reader.Advance(), State::kFailed);
}

TEST(RequestEdges, ARequestHasOneKey) {
  for (const char* keys :
       {"Authorization: Bearer a\r\nauthorization: Bearer b\r\n",
        "Authorization: Bearer a\r\nAuthorization: Bearer a\r\n", "X-API-Key: a\r\nx-api-key: b\r\n"}) {
    RequestReader reader(kSmall);
    reader.Append(absl::StrCat("GET / HTTP/1.1\r\nHost: h\r\n", keys, "\r\n"));
    ASSERT_EQ(reader.Advance(), State::kFailed) << keys;
    EXPECT_EQ(reader.error().status, 400);
  }
}

}  // namespace
}  // namespace penstock
