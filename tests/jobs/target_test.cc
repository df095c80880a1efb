// The parameters of a request's target.
#include "router/openai/route/target.h"

#include <gtest/gtest.h>

#include "router/openai/route/routes.h"

namespace penstock {
namespace {

TEST(Target, AParameterIsDecoded) {
  EXPECT_EQ(QueryParameter("/v1/files?after=file-1&limit=2", "after"), "file-1");
  EXPECT_EQ(QueryParameter("/v1/files?after=file-1&limit=2", "limit"), "2");
  EXPECT_EQ(QueryParameter("http://h/v1/files?a%66ter=a%20b+c%2B", "after"), "a b c+");
  EXPECT_EQ(QueryParameter("/v1/files?after=1&after=2", "after"), "1") << "the first one counts";
  EXPECT_EQ(QueryParameter("/v1/files?after", "after"), "");
  EXPECT_EQ(QueryParameter("/v1/files?after=", "after"), "");
}

TEST(Target, AParameterThatIsNotThereOrBrokenIsNone) {
  EXPECT_EQ(QueryParameter("/v1/files", "after"), std::nullopt);
  EXPECT_EQ(QueryParameter("/v1/files?", "after"), std::nullopt);
  EXPECT_EQ(QueryParameter("/v1/files?after=%zz", "after"), std::nullopt);
  EXPECT_EQ(QueryParameter("/v1/files#?after=1", "after"), std::nullopt);
}

TEST(Target, FilesAreRoutedByPathAndMethod) {
  EXPECT_EQ(MatchRoute("POST", "/v1/files").route, Route::kFiles);
  EXPECT_EQ(MatchRoute("GET", "/v1/files?limit=1").route, Route::kFiles);
  EXPECT_EQ(MatchRoute("PUT", "/v1/files").allow, "GET, HEAD, POST");
  EXPECT_EQ(MatchRoute("GET", "/v1/files/file-1").route, Route::kFile);
  EXPECT_EQ(MatchRoute("DELETE", "/v1/files/file%2d1?x").id, "file-1");
  EXPECT_EQ(MatchRoute("GET", "/v1/files/file-1/content").route, Route::kFileContent);
  EXPECT_EQ(MatchRoute("GET", "/v1/files/file-1/content").id, "file-1");
  EXPECT_EQ(MatchRoute("POST", "/v1/files/file-1/content").route, Route::kWrongMethod);
  for (const char* path : {"/v1/files/", "/v1/files//content", "/v1/files/a/b", "/v1/files/%zz"}) {
    EXPECT_EQ(MatchRoute("GET", path).route, Route::kNotFound) << path;
  }
}

}  // namespace
}  // namespace penstock
