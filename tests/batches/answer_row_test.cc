#include "router/jobs/batch/answer_row.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "router/jobs/batch/json_check.h"

namespace penstock::jobs {
namespace {

using Json = nlohmann::json;

TEST(AnswerRow, AnAnswerIsOneLineWhateverItsBody) {
  const AnswerRow row = MakeAnswerRow({LineId("batch_7", 4), "mine"}, 200,
                                      {"{\n  \"a\": \"b", "\\n\"\r\n,\"usage\":{\"prompt_tokens\":9}}"});
  EXPECT_TRUE(row.good);
  EXPECT_EQ(row.text.find('\n'), row.text.size() - 1);
  EXPECT_EQ(row.use.input, Tokens(9));
  const Json json = Json::parse(row.text);
  EXPECT_EQ(json["id"], "batch_req_7_4");
  EXPECT_EQ(json["custom_id"], "mine");
  EXPECT_EQ(json["response"]["status_code"], 200);
  EXPECT_EQ(json["response"]["body"]["a"], "b\n");
  EXPECT_TRUE(json["error"].is_null());
}

TEST(AnswerRow, ItTakesTheMemoryOfOneAnswer) {
  const std::string part(1 << 18, '7');
  const AnswerRow row = MakeAnswerRow({LineId("batch_7", 4), "mine"}, 200, std::vector<std::string>(40, part));
  EXPECT_GT(row.text.size(), 40 * part.size());
  EXPECT_LT(row.text.capacity(), 40 * part.size() + 4096);
}

TEST(AnswerRow, ABodyThatIsNoJsonBecomesAnError) {
  const AnswerRow row = MakeAnswerRow({LineId("batch_7", 4), "mine"}, 200, {"{\"a\":"});
  EXPECT_FALSE(row.good);
  EXPECT_EQ(row.use, TokenUse());
  const Json json = Json::parse(row.text);
  EXPECT_EQ(json["custom_id"], "mine");
  EXPECT_EQ(json["error"]["code"], "answer_is_no_json");
}

TEST(JsonCheck, OnlyAJsonValueIsABody) {
  for (const char* good :
       {"{}", " [1, 2.5e3]\n", "\"a\"", "null", "123456789012345678901234567890", "[]", "[[],{}]", "-0.5E-3", "1e400",
        R"({"a":[true,false,{"b":"\u00e9\ud83d\ude00\\\""}], "c" : 0 })", "[ ]", "{ }", "\t0\r\n"}) {
    EXPECT_TRUE(IsJsonValue(good)) << good;
  }
  for (const char* bad : {"",      " ",     "{",   "[",       "{} {}",    "\xff\xfb\x90", "\"\xff\"", "\"\\q\"",  "1-2",
                          "hello", "[1,]",  "{,}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}",   "{1:2}",    "[1}",      "01",
                          "1.",    ".5",    "+1",  "1e",      "-",        "\"\\ud83d\"",  "\"a",      "\"a\nb\"", "nul",
                          "trues", "[1 2]", "]",   "[1]]",    "\"a\\",    "\"\\u12"}) {
    EXPECT_FALSE(IsJsonValue(bad)) << bad;
  }
}

TEST(JsonCheck, TheTextHasAnyDepth) {
  EXPECT_TRUE(IsJsonValue(std::string(100'000, '[') + std::string(100'000, ']')));
  EXPECT_FALSE(IsJsonValue(std::string(1'000'000, '[')));
}

}  // namespace
}  // namespace penstock::jobs
