// Requests of Anthropic's dialect as chats.
#include "router/anthropic/chat_request.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"

namespace penstock::anthropic {
namespace {

using nlohmann::json;

struct Translation {
  json chat;
  std::string field;  // The field of the error; empty: there is none.
};

Translation TranslationOf(const std::string& body, const ChatOrder& order = {"m", false, true, std::nullopt, 0},
                          size_t slice = 7) {
  ChatRequest request(body, order);
  while (!request.Advance(slice)) continue;
  if (request.error()) return {json(), request.error()->param};
  std::string text;
  for (const absl::string_view piece : request.Pieces()) text.append(piece.data(), piece.size());
  const json chat = json::parse(text, nullptr, false);
  EXPECT_FALSE(chat.is_discarded()) << text;
  return {chat, ""};
}

std::string Asked(const std::string& messages, const std::string& more = "") {
  return absl::StrCat(R"({"model":"c","max_tokens":10,"messages":)", messages, more, "}");
}
json MessagesOf(const std::string& messages, const std::string& more = "") {
  return TranslationOf(Asked(messages, more)).chat["messages"];
}
const std::string kSaid = R"([{"role":"user","content":"the \"river\""}])";

TEST(ChatRequest, ATextHasItsModelLimitAndNoStream) {
  EXPECT_EQ(TranslationOf(Asked(kSaid)).chat, json::parse(R"({"model":"m","stream":false,"max_tokens":10,"messages":[
      {"role":"user","content":"the \"river\""}]})"));
}

TEST(ChatRequest, AStreamAsksForItsUsage) {
  const json chat = TranslationOf(Asked(kSaid), {"m", true, true, std::nullopt, 0}).chat;
  EXPECT_EQ(chat["stream"], true);
  EXPECT_EQ(chat["stream_options"], json::parse(R"({"include_usage":true})"));
}

TEST(ChatRequest, TheSystemPromptIsTheFirstMessage) {
  EXPECT_EQ(MessagesOf(kSaid, R"(,"system":"be brief")")[0], json::parse(R"({"role":"system","content":"be brief"})"));
  EXPECT_EQ(
      MessagesOf(kSaid,
                 R"(,"system":[{"type":"text","text":"one","cache_control":{}},{"type":"text","text":"two"}])")[0],
      json::parse(R"({"role":"system","content":"onetwo"})"));
}

TEST(ChatRequest, ATurnOfToolsBecomesCallsAndTheirAnswers) {
  const json messages = MessagesOf(R"([
      {"role":"user","content":[{"type":"text","text":"look"}]},
      {"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"I look"},
        {"type":"tool_use","id":"t1","name":"look","input":{"at":"a \"gate\""}},{"type":"redacted_thinking","data":"x"},
        {"type":"tool_use","id":"t2","name":"wait","input":{}}]},
      {"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"shut"},
        {"type":"tool_result","tool_use_id":"t2","content":[{"type":"text","text":"one"},{"type":"text","text":"two"}]},
        {"type":"text","text":"go on"}]}])");
  EXPECT_EQ(messages, json::parse(R"([
      {"role":"user","content":"look"},
      {"role":"assistant","content":"I look","reasoning_content":"hm","tool_calls":[
        {"id":"t1","type":"function","function":{"name":"look","arguments":"{\"at\":\"a \\\"gate\\\"\"}"}},
        {"id":"t2","type":"function","function":{"name":"wait","arguments":"{}"}}]},
      {"role":"tool","tool_call_id":"t1","content":"shut"},
      {"role":"tool","tool_call_id":"t2","content":"one\ntwo"},
      {"role":"user","content":"go on"}])"));
}

TEST(ChatRequest, ImagesBecomeDataUrlsAndTextDocumentsText) {
  const json messages = MessagesOf(R"([{"role":"user","content":[
      {"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}},
      {"type":"image","source":{"type":"url","url":"https://x/y.png"}},
      {"type":"document","title":"t","context":"c","source":{"type":"text","media_type":"text/plain","data":"a page"}},
      {"type":"text","text":"see"}]}])");
  EXPECT_EQ(messages, json::parse(R"([{"role":"user","content":[
      {"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}},
      {"type":"image_url","image_url":{"url":"https://x/y.png"}},
      {"type":"text","text":"t\nc\na page"},{"type":"text","text":"see"}]}])"));
}

TEST(ChatRequest, AnImageInTheResultOfAToolFollowsIt) {
  const json messages = MessagesOf(R"([{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[
      {"type":"text","text":"seen"},{"type":"image","source":{"type":"url","url":"https://x"}}]}]}])");
  EXPECT_EQ(messages, json::parse(R"([{"role":"tool","tool_call_id":"t","content":"seen"},
      {"role":"user","content":[{"type":"image_url","image_url":{"url":"https://x"}}]}])"));
}

TEST(ChatRequest, AFailedCallSaysSo) {
  const json messages = MessagesOf(R"([{"role":"user","content":[
      {"type":"tool_result","tool_use_id":"a","content":"no such file","is_error":true},
      {"type":"tool_result","tool_use_id":"b","is_error":true,"content":[{"type":"text","text":"shut"}]},
      {"type":"tool_result","tool_use_id":"c","content":"open","is_error":false},
      {"type":"tool_result","tool_use_id":"d","content":"open","is_error":null}]}])");
  EXPECT_EQ(messages, json::parse(R"([
      {"role":"tool","tool_call_id":"a","content":"Error: no such file"},
      {"role":"tool","tool_call_id":"b","content":"Error: shut"},
      {"role":"tool","tool_call_id":"c","content":"open"},{"role":"tool","tool_call_id":"d","content":"open"}])"));
}

TEST(ChatRequest, ToolsAndTheirChoiceBecomeFunctions) {
  const std::string tools = R"(,"tools":[{"name":"look","description":"d","input_schema":{"type":"object"}},
      {"type":"custom","name":"wait","input_schema":{}}])";
  const json chat = TranslationOf(Asked(kSaid, tools + R"(,"tool_choice":{"type":"tool","name":"look"})")).chat;
  EXPECT_EQ(chat["tools"], json::parse(R"([
      {"type":"function","function":{"name":"look","description":"d","parameters":{"type":"object"}}},
      {"type":"function","function":{"name":"wait","parameters":{}}}])"));
  EXPECT_EQ(chat["tool_choice"], json::parse(R"({"type":"function","function":{"name":"look"}})"));
  const auto choice = [&](const std::string& given) {
    return TranslationOf(Asked(kSaid, tools + ",\"tool_choice\":" + given)).chat;
  };
  EXPECT_EQ(choice(R"({"type":"any"})")["tool_choice"], "required");
  EXPECT_EQ(choice(R"({"type":"none"})")["tool_choice"], "none");
  const json one = choice(R"({"type":"auto","disable_parallel_tool_use":true})");
  EXPECT_EQ(one["tool_choice"], "auto");
  EXPECT_EQ(one["parallel_tool_calls"], false);
}

TEST(ChatRequest, SettingsHaveTheNamesOfAChat) {
  const json chat = TranslationOf(Asked(kSaid, R"(,"stop_sequences":["x"],"temperature":0.5,"top_p":0.9,"top_k":4,
      "thinking":{"type":"disabled"},"metadata":{"user_id":"u"},"service_tier":"auto",
      "output_config":{"effort":"low","format":{"type":"json_schema","schema":{"type":"object"}}})"))
                        .chat;
  EXPECT_EQ(chat["stop"], json::parse(R"(["x"])"));
  EXPECT_EQ(chat["temperature"], 0.5);
  EXPECT_EQ(chat["top_p"], 0.9);
  EXPECT_EQ(chat["top_k"], 4);
  EXPECT_EQ(chat["chat_template_kwargs"], json::parse(R"({"enable_thinking":false})"));
  EXPECT_EQ(chat["user"], "u");
  EXPECT_EQ(chat["reasoning_effort"], "low");
  EXPECT_EQ(chat["response_format"]["json_schema"]["schema"], json::parse(R"({"type":"object"})"));
  EXPECT_FALSE(chat.contains("service_tier"));
}

TEST(ChatRequest, AnAnswerGoesOnFromItsText) {
  const json chat = TranslationOf(Asked(kSaid, R"(,"tools":[])"), {"m", true, true, R"(one \"two\")", 4}).chat;
  EXPECT_EQ(chat["messages"][1], json::parse(R"({"role":"assistant","content":"one \"two\""})"));
  EXPECT_EQ(chat["continue_final_message"], true);
  EXPECT_EQ(chat["add_generation_prompt"], false);
  EXPECT_EQ(chat["max_tokens"], 6);
}

TEST(ChatRequest, ABeginningByTheClientNeedsAnEngineThatGoesOn) {
  const std::string body = Asked(R"([{"role":"user","content":"a"},{"role":"assistant","content":"b"}])");
  EXPECT_EQ(TranslationOf(body).chat["continue_final_message"], true);
  EXPECT_EQ(TranslationOf(body, {"m", false, false, std::nullopt, 0}).field, "messages");
}

TEST(ChatRequest, WhatAChatCannotSayIsNamed) {
  const auto field = [](const std::string& messages, const std::string& more = "") {
    return TranslationOf(Asked(messages, more)).field;
  };
  const auto content = [&](const std::string& blocks, const std::string& role = "user") {
    return field(R"([{"role":")" + role + R"(","content":[)" + blocks + "]}]");
  };
  EXPECT_EQ(content(R"({"type":"text","text":"a"},{"type":"search_result"})"), "messages[0].content[1].type");
  EXPECT_EQ(content(R"({"type":"server_tool_use"})", "assistant"), "messages[0].content[0].type");
  EXPECT_EQ(content(R"({"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"a"}})"),
            "messages[0].content[0].source");
  EXPECT_EQ(content(R"({"type":"image","source":{"type":"file","file_id":"f"}})"), "messages[0].content[0].source");
  EXPECT_EQ(
      content(R"({"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"a"},{"type":"pdf"}]})"),
      "messages[0].content[0].content[1].type");
  EXPECT_EQ(content(R"({"type":"tool_result","content":"a"})"), "messages[0].content[0].tool_use_id");
  EXPECT_EQ(content(R"({"type":"tool_use","id":"t","input":{}})", "assistant"), "messages[0].content[0].name");
  EXPECT_EQ(content("\"a\""), "messages[].content");
  EXPECT_EQ(field(R"([{"role":"tool","content":"a"}])"), "messages[0].role");
  EXPECT_EQ(field(kSaid, R"(,"tools":[{"type":"web_search_20250305","name":"web_search"}])"), "tools[0].type");
  EXPECT_EQ(field(kSaid, R"(,"tools":[{"input_schema":{}}])"), "tools[0].name");
  EXPECT_EQ(field(kSaid, R"(,"tool_choice":{"type":"tool"})"), "tool_choice");
  EXPECT_EQ(field(kSaid, R"(,"mcp_servers":[{"url":"x"}])"), "mcp_servers");
  EXPECT_EQ(field(kSaid, R"(,"container":"c")"), "container");
  EXPECT_EQ(field(kSaid, R"(,"mcp_servers":[])"), "");
}

TEST(ChatRequest, NoPartOfAMessageIsLostWithoutAWord) {
  const auto field = [](const std::string& messages, const std::string& more = "") {
    return TranslationOf(Asked(messages, more)).field;
  };
  const auto content = [&](const std::string& blocks, const std::string& role = "user") {
    return field(R"([{"role":")" + role + R"(","content":)" + blocks + "}]");
  };
  EXPECT_EQ(content(R"([{"type":"text","text":5}])"), "messages[0].content[0].text");
  EXPECT_EQ(content(R"([{"type":"text"}])", "assistant"), "messages[0].content[0].text");
  EXPECT_EQ(content(R"([{"type":"text","text":null}])", "system"), "messages[0].content[0].text");
  EXPECT_EQ(content(R"([{"type":"image","source":{"type":"url","url":"https://x"}},{"type":"text","text":5}])"),
            "messages[0].content[1].text");
  EXPECT_EQ(content(R"([{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":{}}]}])"),
            "messages[0].content[0].content[0].text");
  EXPECT_EQ(content(R"([{"type":"tool_result","tool_use_id":"t","content":5}])"), "messages[0].content[0].content");
  EXPECT_EQ(content(R"([{"type":"tool_result","tool_use_id":"t"}])"), "");
  EXPECT_EQ(content(R"([{"type":"tool_result","tool_use_id":"t","is_error":"yes"}])"),
            "messages[0].content[0].is_error");
  EXPECT_EQ(content(R"([{"type":"thinking","thinking":5}])", "assistant"), "messages[0].content[0].thinking");
  EXPECT_EQ(content(R"([{"type":"tool_use","id":"t","name":"n","input":5}])", "assistant"),
            "messages[0].content[0].input");
  EXPECT_EQ(content(R"([{"type":"image","source":{"type":"url","url":"https://x"}}])", "system"),
            "messages[0].content[0].type");
  EXPECT_EQ(field(kSaid, R"(,"system":[{"type":"text","text":"a"},{"type":"image","source":{}}])"), "system[1].type");
  EXPECT_EQ(field(kSaid, R"(,"system":[{"type":"text","text":5}])"), "system[0].text");
  for (const std::string none : {"null", "5", "{}"}) EXPECT_EQ(content(none), "messages[0].content") << none;
  EXPECT_EQ(field(R"([{"role":"user"}])"), "messages[0].content");
  EXPECT_EQ(content("[]"), "messages[0].content");
  EXPECT_EQ(field(R"([{"role":"assistant","content":[]},{"role":"user","content":"a"}])"), "messages[0].content");
  EXPECT_EQ(content("[]", "assistant"), "");  // The beginning of the answer.
  EXPECT_EQ(field(kSaid, R"(,"thinking":"on")"), "thinking");
  EXPECT_EQ(field(kSaid, R"(,"thinking":{"type":"on"})"), "thinking");
  EXPECT_EQ(field(kSaid, R"(,"thinking":{"type":"adaptive"})"), "");
  EXPECT_EQ(field(kSaid, R"(,"metadata":"me")"), "metadata");
  EXPECT_EQ(field(kSaid, R"(,"output_config":"low")"), "output_config");
}

TEST(ChatRequest, ABlockHasOnlyTheMembersOfItsType) {
  const auto field = [](const std::string& blocks, const std::string& role = "user") {
    return TranslationOf(Asked(R"([{"role":")" + role + R"(","content":[)" + blocks + "]}]")).field;
  };
  EXPECT_EQ(field(R"({"type":"text","text":"a","content":[{"type":"text","text":"lost"}]})"),
            "messages[0].content[0].content");
  EXPECT_EQ(field(R"({"type":"text","text":"a","content":"lost"})", "system"), "messages[0].content[0].content");
  EXPECT_EQ(field(R"({"type":"text","text":"a"},{"type":"text","text":"b","thinking":"lost"})", "assistant"),
            "messages[0].content[1].thinking");
  EXPECT_EQ(field(R"({"type":"tool_result","tool_use_id":"t","content":"a","text":"lost"})"),
            "messages[0].content[0].text");
  EXPECT_EQ(field(R"({"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"a","input":{}}]})"),
            "messages[0].content[0].content[0].input");
  EXPECT_EQ(field(R"({"type":"tool_use","id":"t","name":"n","input":{},"content":[]})", "assistant"),
            "messages[0].content[0].content");
  EXPECT_EQ(field(R"({"type":"image","text":"lost","source":{"type":"url","url":"https://x"}})"),
            "messages[0].content[0].text");
  EXPECT_EQ(field(R"({"type":"document","title":5,"source":{"type":"text","data":"a"}})"),
            "messages[0].content[0].title");
  EXPECT_EQ(field(R"({"type":"text","text":"a","id":"x","citations":null,"content":null})"), "");
  EXPECT_EQ(TranslationOf(Asked(kSaid, R"(,"system":[{"type":"text","text":"a","source":{}}])")).field,
            "system[0].source");
}

TEST(ChatRequest, LongListsAndPartsAreBounded) {
  std::string blocks = R"({"type":"text","text":"a"})";
  for (size_t i = 0; i < TurnFields::kMostBlocksOfTurn; ++i) blocks += R"(,{"type":"text","text":"a"})";
  EXPECT_EQ(TranslationOf(Asked(R"([{"role":"user","content":[)" + blocks + "]}]"), {}, 1 << 20).field, "messages");
  const std::string input = "{\"a\":\"" + std::string(ChatRequest::kLongestPart, 'x') + "\"}";
  EXPECT_EQ(TranslationOf(Asked(R"([{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"n","input":)" +
                                input + "}]}]"),
                          {}, 1 << 20)
                .field,
            "messages[0].content[0].input");
}

TEST(ChatRequest, ALongImageIsNotCopied) {
  const std::string data(1 << 20, 'A');
  const std::string body = Asked(R"([{"role":"user","content":[{"type":"image","source":{"type":"base64",
      "media_type":"image/png","data":")" +
                                 data + R"("}}]}])");
  ChatRequest request(body, {"m", false, true, std::nullopt, 0});
  while (!request.Advance()) continue;
  EXPECT_LT(request.size(), 4096u);
}

}  // namespace
}  // namespace penstock::anthropic
