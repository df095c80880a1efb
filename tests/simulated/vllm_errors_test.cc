// Wrong requests to the simulated engine in vLLM's dialect, and their errors.
#include <string>

#include "gmock/gmock.h"
#include "tests/simulated/vllm_face.h"

namespace penstock::simulated {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

// The body of a chat with one more field.
std::string ChatWith(const char* field, const json& value) {
  json body = Chat("x");
  body[field] = value;
  return body.dump();
}

// A wrong request, and the error that answers it: its status, its type and a part of its message.
struct WrongRequest {
  const char* name;
  std::string target;
  std::string body;
  int status;
  std::string type;
  std::string part;
};
const WrongRequest kWrongRequests[] = {
    {"bad JSON", kChat, "{\"model\": ", 400, "Bad Request", "JSON"},
    {"no object", kChat, "[]", 400, "Bad Request", "object"},
    {"deep nesting", kChat, std::string(100'000, '['), 400, "Bad Request", "nested"},
    {"no messages", kChat, "{}", 400, "Bad Request", "messages"},
    {"messages of a wrong type", kChat, R"({"messages": "hi"})", 400, "Bad Request", "messages"},
    {"a message without role", kChat, R"({"messages": [{"content": "hi"}]})", 400, "Bad Request", "messages.0"},
    {"no prompt", kCompletions, "{}", 400, "Bad Request", "prompt"},
    {"a prompt of a wrong type", kCompletions, R"({"prompt": 7})", 400, "Bad Request", "prompt"},
    {"an empty prompt list", kCompletions, R"({"prompt": []})", 400, "Bad Request", "prompt"},
    {"unknown model", kChat, ChatWith("model", "other"), 404, "NotFoundError", "`other` does not exist"},
    {"max_tokens over the context", kChat, ChatWith("max_tokens", 16'001), 400, "BadRequestError",
     "maximum context length is 16000"},
    {"max_tokens 0", kChat, ChatWith("max_tokens", 0), 400, "BadRequestError", "at least 1"},
    {"stream of a wrong type", kChat, ChatWith("stream", "yes"), 400, "Bad Request", "stream"},
    {"stream_options without stream", kChat, ChatWith("stream_options", {{"include_usage", true}}), 400, "Bad Request",
     "stream=True"},
    {"n 0", kChat, ChatWith("n", 0), 400, "BadRequestError", "n must be at least 1"},
    {"a long prompt", kCompletions, json{{"prompt", std::string(200'000, 'a')}}.dump(), 400, "BadRequestError",
     "maximum context length"},
    {"no input", "/v1/embeddings", "{}", 400, "Bad Request", "input"},
    {"unknown path", "/v1/nothing", "{}", 404, "NotFoundError", "Not Found"},
    {"wrong method", "/v1/models", "{}", 405, "Bad Request", "Not Allowed"},
};

TEST_F(VllmFace, WhatIsWrongIsToldInVllmsShape) {
  for (const WrongRequest& wrong : kWrongRequests) {
    SCOPED_TRACE(wrong.name);
    const Reply reply = Ask("POST", wrong.target, wrong.body);
    EXPECT_EQ(reply.status, wrong.status) << reply.body;
    const json error = reply.Json()["error"];
    ASSERT_TRUE(error.is_object()) << reply.body;
    EXPECT_EQ(error["code"], wrong.status);
    EXPECT_EQ(error["type"], wrong.type);
    EXPECT_THAT(error["message"].get<std::string>(), HasSubstr(wrong.part));
    EXPECT_TRUE(error.contains("param"));
  }
  EXPECT_EQ(Ask("POST", kChat, Chat("x").dump(), {{"x-simulated-output-tokens", "many"}}).status, 400);
}

TEST_F(VllmFace, GarbageInsteadOfHttpIsRefused) {
  Connection connection(Port());
  connection.Send("nonsense\r\n\r\n");
  EXPECT_EQ(connection.Receive().status, 400);
}

}  // namespace
}  // namespace penstock::simulated
