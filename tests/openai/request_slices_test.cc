// A scan that pauses: its slices are short, and their size makes no difference.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <variant>

#include "absl/strings/str_cat.h"
#include "backends/engines/catalogue/engine_catalogue.h"
#include "router/openai/request/request_scan.h"

namespace penstock {
namespace {

std::string ChatBody(const std::string& more) {
  return absl::StrCat(R"({"model":"m","messages":[{"role":"user","content":"Hello there"}])", more, "}");
}

std::variant<RequestFacts, ApiError> InSlices(Endpoint endpoint, const std::string& body, size_t bytes) {
  RequestScan scan(endpoint, body, AllOutputLimits());
  while (!scan.Advance(bytes)) continue;
  return scan.Take();
}

TEST(RequestSlices, TheSizeOfTheSlicesMakesNoDifference) {
  const struct {
    Endpoint endpoint;
    std::string body;
  } rows[] = {
      {Endpoint::kChat,
       ChatBody(
           R"(,"x":[1,-2.5e+3,true,null,{"a":{},"b":[[]]}],"\u006e":2,"stream":true,"stream_options":{"a":{"b":1},"include_usage":true},"tools":[{"f":"\ud83d\ude00"}])")},
      {Endpoint::kChat,
       R"({"messages":[{"role":"us\u0065r","content":[{"type":"text","text":"caf\u00e9 42 \ud83d\ude00"},"x",{"type":"image_url","image_url":{"url":"u"}}]},)"
       "{\"tool_calls\":[{\"id\":\"\xE4\xBD\xA0\",\"n\":[1,2]}],\"role\":\"assistant\",\"content\":null}],\"model\":"
       "\"\xC3\xA9\"}"},
      {Endpoint::kCompletions, R"({"model":"m","prompt":["one two",[1,2,3],"drei"],"max_tokens":5})"},
      {Endpoint::kCompletions, R"({"model":"m","prompt_embeds":["AAAA", "AA\u0041AAAAA" ,""],"prompt":"a"})"},
      {Endpoint::kResponses,
       R"({"model":"m","instructions":"be short","input":[{"content":"hi"},{"arguments":"{\"a\":1}"},{"output":{"b":2}}]})"},
      {Endpoint::kRerank,
       "{\"model\":\"m\",\"query\":\"q \xF0\x9F\x98\x80\",\"documents\":[\"d 1\",{\"text\":\"d\"}]}"},
  };
  for (const auto& row : rows) {
    const auto scanned = ScanRequest(row.endpoint, row.body, AllOutputLimits());
    ASSERT_TRUE(std::holds_alternative<RequestFacts>(scanned)) << row.body;
    const RequestFacts& whole = std::get<RequestFacts>(scanned);
    for (size_t bytes = 1; bytes < 80; ++bytes) {
      const auto sliced = InSlices(row.endpoint, row.body, bytes);
      ASSERT_TRUE(std::holds_alternative<RequestFacts>(sliced)) << bytes << ": " << std::get<ApiError>(sliced).message;
      ASSERT_EQ(std::get<RequestFacts>(sliced), whole) << bytes << ": " << row.body;
    }
  }
}

// The list may have many megabytes, and what follows the slices holds the loop.
TEST(RequestSlices, AListOfTensorsIsCountedInTheSlicesAlone) {
  std::string body = R"({"model":"m","prompt_embeds":["AAAA","AAAAAAAA"]})";
  RequestScan scan(Endpoint::kCompletions, body, AllOutputLimits());
  while (!scan.Advance(8)) continue;
  const size_t inside = body.find('[') + 1;
  std::fill_n(body.begin() + static_cast<std::ptrdiff_t>(inside), body.find(']') - inside, ' ');
  const auto facts = scan.Take();
  ASSERT_TRUE(std::holds_alternative<RequestFacts>(facts)) << std::get<ApiError>(facts).message;
  EXPECT_EQ(std::get<RequestFacts>(facts).prompts, 2);
  EXPECT_EQ(std::get<RequestFacts>(facts).media->embedded, 9);
}

TEST(RequestSlices, ASliceIsNoLongerThanAsked) {
  const std::string bodies[] = {
      ChatBody(",\"x\":\"" + std::string(1 << 20, 'a') + "\""),
      ChatBody(",\"x\":[" + std::string(1 << 20, ' ') + "1]"),
      R"({"model":"m","messages":[{"role":"user","content":")" + std::string(1 << 20, 'a') + R"("}]})",
      "{\"" + std::string(1 << 20, 'k') + "\":1}",
  };
  for (const std::string& body : bodies) {
    RequestScan scan(Endpoint::kChat, body, AllOutputLimits());
    size_t slices = 1;
    while (!scan.Advance(kScanSlice)) ++slices;
    EXPECT_GE(slices, body.size() / kScanSlice) << body.substr(0, 40);
  }
}

}  // namespace
}  // namespace penstock
