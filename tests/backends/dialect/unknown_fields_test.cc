#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "backends/dialect/assembly/stream_assembler.h"

namespace penstock {
namespace {

using Json = nlohmann::json;

std::string ChoiceEvent(const std::string& members) { return R"({"choices":[{"index":0,)" + members + "}]}"; }

Json ChoiceOf(std::vector<std::string> events) {
  events.push_back(ChoiceEvent(R"("delta":{},"finish_reason":"stop")"));
  StreamAssembler assembler(Endpoint::kChat);
  for (const std::string& event : events) {
    const absl::Status added = assembler.Add(event);
    EXPECT_TRUE(added.ok()) << added << event;
  }
  auto answer = assembler.Finish();
  EXPECT_TRUE(answer.ok()) << answer.status();
  std::string text;
  while (answer.ok() && answer->Write(64, &text)) continue;
  const Json json = Json::parse(text, nullptr, false);
  EXPECT_FALSE(json.is_discarded()) << text;
  return json.is_discarded() ? Json() : json["choices"][0];
}

Json MessageOf(const std::vector<std::string>& deltas) {
  std::vector<std::string> events;
  for (const std::string& delta : deltas) events.push_back(ChoiceEvent("\"delta\":" + delta));
  return ChoiceOf(events)["message"];
}

TEST(UnknownFields, AFunctionCallOfTheOldApiIsPutTogether) {
  EXPECT_EQ(MessageOf({R"({"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{\"a\""}})",
                       R"({"function_call":{"arguments":":1}"}})"}),
            Json::parse(R"({"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{\"a\":1}"}})"));
}

TEST(UnknownFields, FieldsOfADeltaThatNoRuleKnowsMergeAsClientsMergeThem) {
  const Json message =
      MessageOf({R"({"content":"a","vendor":"x","audio":{"id":"a1","data":"AA","expires_at":1},)"
                 R"("annotations":[{"type":"url_citation","n":1}],"none":null})",
                 R"({"content":"b","vendor":"y","audio":{"id":"a1","data":"BB","expires_at":2},)"
                 R"("annotations":[{"type":"url_citation","n":2}],"flag":true})",
                 R"({"flag":false,"steps":[{"index":1,"type":"s","text":"p"},{"index":0,"text":"q"}]})",
                 R"({"steps":[{"index":1,"type":"s","text":"r"}]})"});
  EXPECT_EQ(message, Json::parse(R"({"role":"assistant","content":"ab","vendor":"xy",
                       "audio":{"id":"a1","data":"AABB","expires_at":2},
                       "annotations":[{"type":"url_citation","n":1},{"type":"url_citation","n":2}],"flag":false,
                       "steps":[{"index":0,"text":"q"},{"index":1,"type":"s","text":"pr"}]})"));
}

TEST(UnknownFields, AListOfTextsIsTheTextAndOtherPartsStayAList) {
  EXPECT_EQ(MessageOf({R"({"content":[{"type":"text","text":"li"},{"type":"text","text":"st"}]})",
                       R"({"content":"y"})"})["content"],
            "listy");
  EXPECT_EQ(MessageOf({R"({"content":"see "})", R"({"content":[{"type":"image","url":"u"}]})",
                       R"({"content":"it"})"})["content"],
            Json::parse(R"([{"type":"text","text":"see "},{"type":"image","url":"u"},{"type":"text","text":"it"}])"));
}

TEST(UnknownFields, FurtherFieldsOfAChoiceAndOfACallOfAToolAreInTheAnswer) {
  const Json choice = ChoiceOf(
      {ChoiceEvent(R"("delta":{"tool_calls":[{"index":0,"id":"c","type":"custom","custom":{"name":"f","input":"1"}}]},)"
                   R"("token_ids":[1,2],"vendor":"V","safety":{"hate":{"severity":"safe"}})"),
       ChoiceEvent(R"("delta":{"tool_calls":[{"index":0,"id":"","custom":{"input":"2"}},)"
                   R"({"index":1,"function":{"name":"g","arguments":{"x":"y"}}}]},)"
                   R"("token_ids":[3],"vendor":"V","safety":{"hate":{"severity":"safe"}})")});
  EXPECT_EQ(choice["token_ids"], Json::parse("[1,2,3]"));
  EXPECT_EQ(choice["vendor"], "V");
  EXPECT_EQ(choice["safety"]["hate"]["severity"], "safe");
  EXPECT_EQ(choice["message"]["tool_calls"],
            Json::parse(R"([{"id":"c","type":"custom","custom":{"name":"f","input":"12"}},
                            {"function":{"name":"g","arguments":"{\"x\":\"y\"}"}}])"));
}

}  // namespace
}  // namespace penstock
