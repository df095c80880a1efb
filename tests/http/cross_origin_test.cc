#include "router/http/origin/cross_origin.h"

#include <gtest/gtest.h>

#include "router/http/coding/gzip_client.h"
#include "router/openai/request/header_rules.h"

namespace penstock {
namespace {

CorsConfig Cors() {
  CorsConfig cors;
  cors.origins = {"https://A.example"};
  cors.expose = {"x-trace"};
  return cors;
}

TEST(CrossOrigin, AListedOriginMayReadInAnyCase) {
  const HeaderList headers = CrossOriginHeaders(Cors(), "https://a.example");
  EXPECT_EQ(FindHeader(headers, "access-control-allow-origin"), "https://a.example");
  EXPECT_EQ(FindHeader(headers, "vary"), "Origin");
  EXPECT_EQ(FindHeader(headers, "access-control-allow-credentials"), "");
}

TEST(CrossOrigin, OthersLearnOnlyThatAnswersVary) {
  for (const char* origin : {"", "https://b.example", "https://a.example.evil", "null"}) {
    EXPECT_EQ(CrossOriginHeaders(Cors(), origin).size(), 1u) << origin;
  }
}

TEST(CrossOrigin, CredentialsNameTheOrigin) {
  CorsConfig cors = Cors();
  cors.credentials = true;
  EXPECT_EQ(FindHeader(CrossOriginHeaders(cors, "https://a.example"), "access-control-allow-credentials"), "true");
}

TEST(CrossOrigin, APreflightRepeatsWhatIsAskedUnlessHeadersAreListed) {
  HeaderList request;
  request.Add("Origin", "https://a.example");
  request.Add("Access-Control-Request-Method", "POST");
  request.Add("Access-Control-Request-Headers", "x-a, x-b");
  EXPECT_TRUE(IsPreflight("OPTIONS", request));
  EXPECT_FALSE(IsPreflight("POST", request));
  EXPECT_EQ(FindHeader(PreflightHeaders(Cors(), request, ""), "access-control-allow-headers"), "x-a, x-b");
  CorsConfig listed = Cors();
  listed.headers = {"authorization"};
  const HeaderList headers = PreflightHeaders(listed, request, "GET, HEAD");
  EXPECT_EQ(FindHeader(headers, "access-control-allow-headers"), "authorization");
  EXPECT_EQ(FindHeader(headers, "access-control-allow-methods"), "GET, HEAD");
  EXPECT_EQ(FindHeader(headers, "access-control-max-age"), "600");
}

TEST(AcceptsGzip, FollowsTheWeights) {
  for (const char* yes : {"gzip", "deflate, GZIP;q=0.5", "*", "br;q=1, x-gzip", "gzip; Q = 0.5", "gzip;seq=0"})
    EXPECT_TRUE(AcceptsGzip(yes)) << yes;
  for (const char* no : {"", "identity", "gzip;q=0", "gzip; q=0.000", "br", "*;q=0", "gzip;q=0, *", "gzip;Q=0",
                         "gzip; q = 0", "gzip;\tq=\t0.0"}) {
    EXPECT_FALSE(AcceptsGzip(no)) << no;
  }
}

}  // namespace
}  // namespace penstock
