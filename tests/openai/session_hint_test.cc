#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "router/openai/request/prompt_hashes.h"
#include "router/openai/request/request_scan.h"

namespace penstock {
namespace {

std::string NameIn(Endpoint endpoint, const std::string& fields) {
  const std::string body = R"({"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}])" + fields + "}";
  const auto scanned = ScanRequest(endpoint, body, {});
  const auto* facts = std::get_if<RequestFacts>(&scanned);
  return facts == nullptr ? "an error" : facts->session;
}

TEST(SessionHint, ThePromptCacheKeyGoesBeforeTheUser) {
  EXPECT_EQ(NameIn(Endpoint::kChat, ""), "");
  EXPECT_EQ(NameIn(Endpoint::kChat, R"(,"user":"u")"), "u");
  EXPECT_EQ(NameIn(Endpoint::kChat, R"(,"user":"u","prompt_cache_key":"k")"), "k");
  EXPECT_EQ(NameIn(Endpoint::kChat, R"(,"user":"u","prompt_cache_key":null)"), "u");
}

TEST(SessionHint, TheUserOfAMessageStandsInItsMetadata) {
  const std::string metadata = R"(,"metadata":{"other":[1,{"user_id":"no"}],"user_id":"session_1"})";
  EXPECT_EQ(NameIn(Endpoint::kMessages, metadata), "session_1");
  EXPECT_EQ(NameIn(Endpoint::kChat, metadata), "");
}

TEST(SessionHint, ValuesThatAreNoNamesAreNoErrors) {
  const std::string long_name = "\"" + std::string(2000, 'x') + "\"";
  for (const std::string& value : std::vector<std::string>{"5", "[\"a\"]", "{}", "true", "\"\"", long_name}) {
    EXPECT_EQ(NameIn(Endpoint::kChat, ",\"user\":" + value), "") << value.substr(0, 20);
    EXPECT_EQ(NameIn(Endpoint::kMessages, ",\"metadata\":{\"user_id\":" + value + "}"), "") << value.substr(0, 20);
    EXPECT_EQ(NameIn(Endpoint::kMessages, ",\"metadata\":" + value), "") << value.substr(0, 20);
  }
}

TEST(SessionHint, AKeyBelongsToATenantAndAModel) {
  const uint64_t key = SessionKey("s", "", TenantId(1), ModelId(0));
  EXPECT_NE(key, 0u);
  EXPECT_EQ(key, SessionKey("s", "other", TenantId(1), ModelId(0)));
  EXPECT_EQ(key, SessionKey("", "s", TenantId(1), ModelId(0)));
  EXPECT_NE(key, SessionKey("s", "", TenantId(2), ModelId(0)));
  EXPECT_NE(key, SessionKey("s", "", TenantId(1), ModelId(1)));
  EXPECT_EQ(SessionKey("", "", TenantId(1), ModelId(0)), 0u);
  EXPECT_EQ(SessionKey(std::string(2000, 'x'), "", TenantId(1), ModelId(0)), 0u);
}

}  // namespace
}  // namespace penstock
