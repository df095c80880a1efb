// One line of a batch's input, and the faults that it may have.
#include "router/jobs/input/batch_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::jobs {
namespace {

using ::testing::HasSubstr;

constexpr absl::string_view kChat = "/v1/chat/completions";

BatchLine Good(absl::string_view line) {
  const auto read = ReadBatchLine(line, kChat);
  const auto* fault = std::get_if<LineFault>(&read);
  EXPECT_EQ(fault, nullptr) << fault->message;
  return fault == nullptr ? std::get<BatchLine>(read) : BatchLine();
}

LineFault Bad(absl::string_view line) {
  const auto read = ReadBatchLine(line, kChat);
  const auto* fault = std::get_if<LineFault>(&read);
  EXPECT_NE(fault, nullptr) << line;
  return fault == nullptr ? LineFault() : *fault;
}

TEST(BatchLine, ALineHasItsIdItsModelAndItsBodyAsItStands) {
  const BatchLine line =
      Good(R"({"custom_id":"request-1","method":"POST","url":"/v1/chat/completions",)"
           R"("body":{"model":"llama","messages":[{"role":"user","content":"Hi","model":3}], "n" : 1}})");
  EXPECT_EQ(line.custom_id, "request-1");
  EXPECT_EQ(line.model, "llama");
  EXPECT_EQ(line.body, R"({"model":"llama","messages":[{"role":"user","content":"Hi","model":3}], "n" : 1})");
}

TEST(BatchLine, FieldsMayComeInAnyOrderWithOthersAndEscapes) {
  const BatchLine line =
      Good(R"( {"body":{"x":{"model":"no"},"mod\u0065l":"l\"m"},"url":"\/v1/chat/completions","extra":[1,{"url":2}],)"
           R"("method":"POST","custom_id":"\u00e9"} )");
  EXPECT_EQ(line.custom_id, "\xC3\xA9");
  EXPECT_EQ(line.model, "l\"m");
}

TEST(BatchLine, ATextThatIsNoJsonHasAColumn) {
  EXPECT_EQ(Bad(R"({"custom_id":"a",})").code, "invalid_json_line");
  EXPECT_EQ(Bad(R"({"custom_id":"a",})").column, 18);
  EXPECT_EQ(Bad("{\"\xC3\xA9\xC3\xA9\":tru}").column, 7) << "characters are counted, not bytes";
  EXPECT_EQ(Bad("{\"a\":\"\xFF\"}").column, 7);
  EXPECT_THAT(Bad(R"({"custom_id":"a")").message, HasSubstr("unexpected end at column 17"));
  EXPECT_THAT(Bad("[]").message, HasSubstr("no object at column 1"));
  EXPECT_THAT(Bad("{} {}").message, HasSubstr("unexpected character at column 4"));
  EXPECT_THAT(Bad("{\"a\":" + std::string(200, '[')).message, HasSubstr("nested too deep"));
}

TEST(BatchLine, AFaultNamesTheLineWhereItsIdCanBeRead) {
  EXPECT_EQ(Bad(R"({"custom_id":"mine","method":"GET","url":"/v1/chat/completions","body":{}})").custom_id, "mine");
  EXPECT_EQ(Bad(R"({"method":"POST","custom_id":"\u00e9","url":7})").custom_id, "\xC3\xA9");
  EXPECT_EQ(Bad(R"({"custom_id":"mine","body":{"model":)").custom_id, "mine");
  EXPECT_EQ(Bad("{\"custom_id\":\"mine\",\"body\":\"\xFF\"}").custom_id, "mine");
  for (const std::string& none :
       {std::string(R"({"custom_id":7})"), std::string(R"({"custom_id":"a","custom_id":"b"})"), std::string("[]"),
        std::string("{\"custom_id\":\"\xFF\"}"), std::string(R"({"custom_id":"cut)"),
        R"({"custom_id":")" + std::string(kMaxCustomId + 1, 'x') + "\"}"}) {
    EXPECT_EQ(Bad(none).custom_id, "") << none;
  }
}

TEST(BatchLine, AMissingFieldIsNamed) {
  EXPECT_EQ(Bad("{}").param, "custom_id");
  EXPECT_EQ(Bad("{}").code, "missing_required_parameter");
  EXPECT_EQ(Bad(R"({"custom_id":null})").param, "custom_id");
  EXPECT_EQ(Bad(R"({"custom_id":""})").code, "invalid_value");
  EXPECT_EQ(Bad(R"({"custom_id":"a"})").param, "method");
  EXPECT_EQ(Bad(R"({"custom_id":"a","method":"POST"})").param, "url");
  EXPECT_EQ(Bad(R"({"custom_id":"a","method":"POST","url":"/v1/chat/completions"})").param, "body");
  EXPECT_EQ(Bad(R"({"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{}})").param, "body.model");
}

TEST(BatchLine, AFieldOfAnotherTypeOrValueHasItsColumn) {
  EXPECT_EQ(Bad(R"({"custom_id":7})").code, "invalid_type");
  EXPECT_EQ(Bad(R"({"custom_id":7})").column, 14);
  EXPECT_EQ(Bad(R"({"custom_id":"a","method":"GET","url":"/v1/chat/completions","body":{}})").code, "invalid_method");
  EXPECT_EQ(Bad(R"({"custom_id":"a","method":"POST","url":"/v1/embeddings","body":{}})").code, "mismatched_url");
  EXPECT_EQ(Bad(R"({"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":[]})").code, "invalid_type");
  EXPECT_EQ(Bad(R"({"custom_id":"a","custom_id":"b"})").code, "duplicate_key");
  EXPECT_EQ(Bad(R"({"custom_id":")" + std::string(kMaxCustomId + 1, 'x') +
                R"(","method":"POST","url":"/v1/chat/completions","body":{"model":"m"}})")
                .code,
            "invalid_value");
}

}  // namespace
}  // namespace penstock::jobs
