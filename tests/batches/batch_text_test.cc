#include "router/jobs/batch/batch_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "backends/engines/catalogue/engine_catalogue.h"
#include "router/jobs/batch/answer_use.h"
#include "router/jobs/batch/prefix_order.h"

namespace penstock::jobs {
namespace {

using Json = nlohmann::json;

Batch SampleBatch() {
  Batch batch;
  batch.id = "batch_1";
  batch.input_file_id = "file-1";
  batch.endpoint = "/v1/embeddings";
  batch.completion_window = "24h";
  batch.expires_at = UnixSeconds(2000);
  batch.use.emplace();
  batch.began[0] = UnixSeconds(1000);
  return batch;
}

TEST(BatchText, ANewBatchHasEveryFieldOfOpenAi) {
  const Json json = Json::parse(BatchJson(SampleBatch()));
  EXPECT_EQ(json["id"], "batch_1");
  EXPECT_EQ(json["object"], "batch");
  EXPECT_EQ(json["status"], "validating");
  EXPECT_EQ(json["created_at"], 1000);
  EXPECT_EQ(json["expires_at"], 2000);
  EXPECT_EQ(json["request_counts"], Json({{"total", 0}, {"completed", 0}, {"failed", 0}}));
  EXPECT_EQ(json["usage"]["total_tokens"], 0);
  for (const char* name :
       {"errors", "output_file_id", "error_file_id", "in_progress_at", "finalizing_at", "completed_at", "failed_at",
        "expired_at", "cancelling_at", "cancelled_at", "metadata", "model"}) {
    EXPECT_TRUE(json.at(name).is_null()) << name;
  }
}

TEST(BatchText, ABatchHasTheModelAndTheTokensOfItsLines) {
  Batch batch = SampleBatch();
  batch.model = "llama";
  batch.use = TokenUse{Tokens(30), Tokens(10), Tokens(7), Tokens(5)};
  const Json json = Json::parse(BatchJson(batch));
  EXPECT_EQ(json["model"], "llama");
  EXPECT_EQ(json["usage"], Json::parse(R"({"input_tokens":30,"input_tokens_details":{"cached_tokens":10},)"
                                       R"("output_tokens":7,"output_tokens_details":{"reasoning_tokens":5},)"
                                       R"("total_tokens":37})"));
  batch.use.reset();
  EXPECT_TRUE(Json::parse(BatchJson(batch)).at("usage").is_null());
}

TEST(BatchText, AnEndedBatchHasItsFilesTimesAndErrors) {
  Batch batch = SampleBatch();
  batch.status = BatchStatus::kCompleted;
  batch.began[static_cast<size_t>(BatchStatus::kCompleted)] = UnixSeconds(1500);
  batch.output_file_id = "file-2";
  batch.metadata = R"({"a":"b"})";
  batch.errors = "[" + BatchErrorJson({"duplicate_custom_id", "twice", "custom_id", 3}) + "]";
  batch.counts = {3, 2, 1};
  const Json json = Json::parse(BatchJson(batch));
  EXPECT_EQ(json["status"], "completed");
  EXPECT_EQ(json["completed_at"], 1500);
  EXPECT_EQ(json["output_file_id"], "file-2");
  EXPECT_EQ(json["metadata"]["a"], "b");
  EXPECT_EQ(json["errors"]["object"], "list");
  EXPECT_EQ(json["errors"]["data"][0]["line"], 3);
  EXPECT_EQ(json["request_counts"]["failed"], 1);
}

TEST(AnswerUse, ItIsReadFromTheUsageOfEachDialect) {
  EXPECT_EQ(
      UseOf(R"({"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4,"total_tokens":13,)"
            R"("prompt_tokens_details":{"cached_tokens":8},"completion_tokens_details":{"reasoning_tokens":3}}})"),
      (TokenUse{Tokens(9), Tokens(8), Tokens(4), Tokens(3)}));
  EXPECT_EQ(UseOf(R"({"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":0},"output_tokens":4,)"
                  R"("output_tokens_details":{"reasoning_tokens":2}}})"),
            (TokenUse{Tokens(9), Tokens(0), Tokens(4), Tokens(2)}));
  EXPECT_EQ(UseOf(R"({"data":[],"usage":{"prompt_tokens":9,"total_tokens":9}})"), (TokenUse{.input = Tokens(9)}));
}

TEST(AnswerUse, WhatIsNoCountIsZero) {
  for (const char* body : {"", "[]", "{}", R"({"usage":null})", R"({"usage":{}})", R"({"usage":[1]})",
                           R"({"usage":{"prompt_tokens":-1,"completion_tokens":"7"}})",
                           R"({"usage":{"prompt_tokens":9000000000000000000,"completion_tokens":2000000000000}})",
                           R"({"usage":{"prompt_tokens":0,"completion_tokens_details":null}})"}) {
    EXPECT_EQ(UseOf(body), TokenUse()) << body;
  }
}

TEST(BatchText, ALineWithoutAResponseHasAnError) {
  const Json json = Json::parse(ErrorText({"batch_req_1", ""}, "batch_expired", "too late"));
  EXPECT_TRUE(json["custom_id"].is_null());
  EXPECT_TRUE(json["response"].is_null());
  EXPECT_EQ(json["error"]["code"], "batch_expired");
  EXPECT_FALSE(json["error"].contains("line"));
}

TEST(BatchText, AnErrorOfALineHasItsPlaceInTheFile) {
  const Json error = Json::parse(ErrorText({"batch_req_1", "mine"}, "invalid_method", "no", {7, 12}))["error"];
  EXPECT_EQ(error["line"], 7);
  EXPECT_EQ(error["column"], 12);
  EXPECT_FALSE(Json::parse(ErrorText({"batch_req_1", ""}, "line_too_long", "no", {7, 0}))["error"].contains("column"));
}

uint64_t OrderOf(const std::string& system, const std::string& user, const std::string& model = "m") {
  const std::string body = R"({"model":")" + model + R"(","messages":[{"role":"system","content":")" + system +
                           R"("},{"role":"user","content":")" + user + R"("}]})";
  const auto facts = ScanRequest(Endpoint::kChat, body, AllOutputLimits());
  return PrefixOrder(body, std::get<RequestFacts>(facts));
}

TEST(PrefixOrder, PromptsThatBeginAlikeHaveNumbersThatBeginAlike) {
  const std::string shared(2000, 's');
  const uint64_t one = OrderOf(shared, "one"), two = OrderOf(shared, "two");
  EXPECT_NE(one, two);
  EXPECT_EQ(one >> 31, two >> 31);  // 256 bytes and 1 KiB are equal.
  EXPECT_NE(one >> 31, OrderOf(std::string(2000, 't'), "one") >> 31);
}

TEST(PrefixOrder, ModelsStandApart) { EXPECT_NE(OrderOf("s", "u", "a") >> 47, OrderOf("s", "u", "b") >> 47); }

TEST(PrefixOrder, ADatabaseComparesItAsANumber) {
  for (int i = 0; i < 100; ++i) EXPECT_GE(static_cast<int64_t>(OrderOf("s", std::to_string(i))), 0);
}

}  // namespace
}  // namespace penstock::jobs
