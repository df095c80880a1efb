#include "router/openai/passed/passed_scan.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

RouteConfig Rule(std::string model, RouteCost cost = RouteCost::kFree) {
  RouteConfig rule{.path = "/x", .model = std::move(model), .cost = cost};
  if (cost == RouteCost::kPrompt) rule.fields = {"prompt", "more"};
  if (cost == RouteCost::kTokens) rule.tokens = 77;
  return rule;
}

std::variant<RequestFacts, ApiError> ScanPassed(const RouteConfig& rule, const std::string& body,
                                                absl::string_view target = "/x",
                                                absl::string_view type = "application/json", size_t slice = 1 << 20) {
  PassedScan scan({EndpointOf(rule), &rule, target, type}, body);
  while (!scan.Advance(slice)) continue;
  return scan.Take();
}

std::string CodeOf(const std::variant<RequestFacts, ApiError>& result) {
  const ApiError* error = std::get_if<ApiError>(&result);
  return error == nullptr ? "" : error->code;
}

TEST(PassedScan, FindsTheModelAndThePromptInSlicesOfAnySize) {
  const RouteConfig rule = Rule("body:engine", RouteCost::kPrompt);
  const std::string body =
      R"({"a":{"engine":"no"},"engine" : "m\u0061","prompt":["one two",{"x":"three","y":[[["four"]]]}],"more":"five"})";
  for (size_t slice = 1; slice < 40; ++slice) {
    const auto result = ScanPassed(rule, body, "/x", "application/json", slice);
    ASSERT_EQ(CodeOf(result), "") << slice;
    const auto& facts = std::get<RequestFacts>(result);
    EXPECT_EQ(facts.model, "ma");
    EXPECT_EQ(body.substr(facts.model_at->begin, facts.model_at->size()), R"("m\u0061")");
    EXPECT_EQ(facts.text.words, 5);
    EXPECT_FALSE(facts.fixed_prompt);
  }
}

TEST(PassedScan, DeepTextsDoNotBreakTheWalk) {
  const RouteConfig rule = Rule("body:model", RouteCost::kPrompt);
  const std::string deep =
      absl::StrCat(R"({"model":"m","prompt":)", std::string(100, '['), "\"x\"", std::string(100, ']'), "}");
  EXPECT_EQ(CodeOf(ScanPassed(rule, deep)), "");
}

TEST(PassedScan, AModelMayStandInTheQueryOrInTheRule) {
  const RouteConfig query = Rule("query:m", RouteCost::kTokens);
  const auto result = ScanPassed(query, "no json at all", "/x?m=a%2Fb", "image/png");
  ASSERT_EQ(CodeOf(result), "");
  EXPECT_EQ(std::get<RequestFacts>(result).model, "a/b");
  EXPECT_EQ(std::get<RequestFacts>(result).fixed_prompt, Tokens(77));
  EXPECT_TRUE(std::get<RequestFacts>(result).target_model_at);
  EXPECT_EQ(std::get<RequestFacts>(ScanPassed(Rule("fixed:only"), "")).model, "only");
}

TEST(PassedScan, FaultsAreNamed) {
  const RouteConfig rule = Rule("body:model", RouteCost::kPrompt);
  EXPECT_EQ(CodeOf(ScanPassed(rule, "{")), "invalid_json");
  EXPECT_EQ(CodeOf(ScanPassed(rule, "[]")), "invalid_json");
  EXPECT_EQ(CodeOf(ScanPassed(rule, "{\"prompt\":\"\xff\",\"model\":\"m\"}")), "invalid_json");
  EXPECT_EQ(CodeOf(ScanPassed(rule, R"({"prompt":"x"})")), "missing_required_parameter");
  EXPECT_EQ(CodeOf(ScanPassed(rule, R"({"prompt":"x","model":null})")), "missing_required_parameter");
  EXPECT_EQ(CodeOf(ScanPassed(rule, R"({"model":"x"})")), "missing_required_parameter");
  EXPECT_EQ(CodeOf(ScanPassed(rule, R"({"prompt":"x","model":["m"]})")), "invalid_type");
  EXPECT_EQ(CodeOf(ScanPassed(rule, R"({"prompt":"x","model":"a","mod\u0065l":"b"})")), "duplicate_key");
  EXPECT_EQ(CodeOf(ScanPassed(rule, "hello", "/x", "text/plain")), "unsupported_media_type");
  EXPECT_EQ(CodeOf(ScanPassed(Rule("query:m"), "", "/x")), "missing_required_parameter");
  EXPECT_EQ(CodeOf(ScanPassed(Rule("query:m"), "", "/x?m=a&m=b")), "duplicate_key");
}

TEST(PassedScan, AFormOfSoundHasAFixedPrompt) {
  const std::string body = "--b\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nears\r\n--b--";
  PassedScan scan({Endpoint::kTranscriptions, nullptr, "", "multipart/form-data; boundary=b"}, body);
  while (!scan.Advance()) continue;
  const auto result = scan.Take();
  ASSERT_EQ(CodeOf(result), "");
  EXPECT_TRUE(std::get<RequestFacts>(result).in_form);
  EXPECT_EQ(std::get<RequestFacts>(result).model, "ears");
  EXPECT_EQ(std::get<RequestFacts>(result).fixed_prompt, Tokens(kSoundTokens));
}

}  // namespace
}  // namespace penstock
