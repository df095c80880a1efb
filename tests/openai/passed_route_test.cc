#include "router/openai/passed/passed_route.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "config/values/own_paths.h"

namespace penstock {
namespace {

std::vector<RouteConfig> Routes() {
  RouteConfig videos{.path = "/v1/videos"};
  RouteConfig below{.path = "/v1/videos/*", .methods = {"GET", "DELETE"}, .model = "query:model"};
  RouteConfig deeper{.path = "/v1/videos/raw/*", .methods = {"GET"}, .model = "fixed:m"};
  RouteConfig one{.path = "/v1/videos/list", .methods = {"GET"}, .model = "fixed:m"};
  return {videos, below, deeper, one};
}

const RouteConfig* Find(const std::vector<RouteConfig>& routes, absl::string_view method, absl::string_view target,
                        std::string* allow = nullptr) {
  std::string unused;
  return FindPassedRoute(routes, method, target, allow == nullptr ? &unused : allow);
}

TEST(PassedRoutes, TheNearestRuleOfThePathIsTaken) {
  const std::vector<RouteConfig> routes = Routes();
  EXPECT_EQ(Find(routes, "POST", "/v1/videos?x=1"), &routes[0]);
  EXPECT_EQ(Find(routes, "GET", "/v1/videos/7/content"), &routes[1]);
  EXPECT_EQ(Find(routes, "GET", "/v1/videos/raw/7"), &routes[2]);
  EXPECT_EQ(Find(routes, "GET", "/v1/videos/list"), &routes[3]);
  EXPECT_EQ(Find(routes, "GET", "http://router/v1/videos/7?model=m"), &routes[1]);
}

TEST(PassedRoutes, AnotherMethodNamesThoseOfThePath) {
  const std::vector<RouteConfig> routes = Routes();
  std::string allow;
  EXPECT_EQ(Find(routes, "PUT", "/v1/videos/7", &allow), nullptr);
  EXPECT_EQ(allow, "GET, DELETE");
  EXPECT_EQ(Find(routes, "GET", "/v1/films", &allow), nullptr);
  EXPECT_EQ(allow, "");
}

TEST(PassedRoutes, APathThatClimbsHasNoRule) {
  const std::vector<RouteConfig> routes = Routes();
  for (const char* path : {"/v1/videos/../models", "/v1/videos/./x", "/v1/videos/%2e%2e/x", "/v1/videos/..%2fx",
                           "/v1/videos/a\\..\\b", "/v1/videos/%zz", "/v1/videos/"}) {
    std::string allow;
    EXPECT_EQ(Find(routes, "GET", path, &allow), nullptr) << path;
    EXPECT_EQ(allow, "") << path;
  }
}

TEST(PassedRoutes, AParameterIsFoundAndReplaced) {
  bool twice = false;
  const absl::string_view target = "/x?a=1&mod%65l=m%2Fn&b";
  const auto at = FindParameter(target, "model", &twice);
  ASSERT_TRUE(at);
  EXPECT_FALSE(twice);
  EXPECT_EQ(target.substr(at->begin, at->size()), "m%2Fn");
  EXPECT_EQ(WithParameter(target, *at, "org/model 7&"), "/x?a=1&mod%65l=org/model%207%26&b");
  EXPECT_FALSE(FindParameter("/x", "model", &twice));
  EXPECT_TRUE(FindParameter("/x?model=a&model=b", "model", &twice));
  EXPECT_TRUE(twice);
}

TEST(PassedRoutes, NoRuleMayTakeAPathThatTheRouterServes) {
  for (const absl::string_view own : OwnPaths()) {
    const std::string path(own.size() > 1 && own.back() == '/' ? std::string(own) + "x" : std::string(own));
    EXPECT_NE(OwnPathTaken(path), "") << own;
    EXPECT_NE(MatchRoute("POST", own == "/penstock/" ? "/penstock/" : path).route, Route::kNotFound) << own;
  }
  for (int i = 0; i < kEndpointCount; ++i) {
    const auto endpoint = static_cast<Endpoint>(i);
    if (!IsRoute(endpoint)) {
      EXPECT_NE(OwnPathTaken(TraitsOf(endpoint).path), "") << TraitsOf(endpoint).path;
    }
  }
  EXPECT_NE(OwnPathTaken("/v1/*"), "");
  EXPECT_NE(OwnPathTaken("/v1/responses/*"), "");
  EXPECT_EQ(OwnPathTaken("/v1/videos/*"), "");
  EXPECT_EQ(OwnPathTaken("/generate"), "");
}

}  // namespace
}  // namespace penstock
