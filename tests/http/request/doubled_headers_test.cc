// Headers that steer a request and come twice.
#include <gtest/gtest.h>

#include <string>

#include "router/fleet/tenants.h"
#include "router/openai/request/header_rules.h"

namespace penstock {
namespace {

TEST(DoubledHeaders, OtherValuesContradictAndEqualOnesDoNot) {
  const HeaderList headers{{"x-session-id", "a"}, {"x-penstock-class", "batch"}, {"X-Session-Id", "a "}};
  EXPECT_FALSE(Contradicts(headers, "x-session-id"));
  EXPECT_FALSE(Contradicts(headers, "x-penstock-class"));
  EXPECT_FALSE(Contradicts(headers, "x-other"));
  EXPECT_TRUE(Contradicts({{"x-session-id", "a"}, {"x-session-id", ""}}, "x-session-id"));
  EXPECT_TRUE(Contradicts({{"x-a", "1"}, {"x-a", "1"}, {"X-A", "2"}}, "x-a"));
}

TEST(DoubledHeaders, TheRefusalNamesTheHeader) {
  const HeaderList headers{{"x-a", "1"}, {"x-b", "1"}, {"x-b", "2"}};
  EXPECT_FALSE(Contradiction(headers, {"x-a"}).has_value());
  const auto error = Contradiction(headers, {"x-a", "x-b"});
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->status, 400);
  EXPECT_EQ(error->param, "x-b");
  EXPECT_NE(error->message.find("`x-b` comes twice"), std::string::npos) << error->message;
}

TEST(DoubledHeaders, NobodyIsTwoTenants) {
  Config config;
  config.tenant_header = "x-team";
  const TenantBook book(config);
  const auto one = book.Identify({{"x-team", "red"}, {"x-team", "red"}});
  EXPECT_NE(std::get<Caller>(one).tenant, TenantId());
  const auto two = book.Identify({{"x-team", "red"}, {"X-Team", "blue"}});
  ASSERT_TRUE(std::holds_alternative<ApiError>(two));
  EXPECT_EQ(std::get<ApiError>(two).status, 400);
}

}  // namespace
}  // namespace penstock
