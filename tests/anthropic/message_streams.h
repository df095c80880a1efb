// Streams of an engine's chunks, and the events of the message that is made of one. Tests only.
#ifndef PENSTOCK_TESTS_ANTHROPIC_MESSAGE_STREAMS_H_
#define PENSTOCK_TESTS_ANTHROPIC_MESSAGE_STREAMS_H_

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/dialect/sse_splitter.h"
#include "router/anthropic/message_writer.h"

namespace penstock::anthropic {

inline std::string Chunk(const std::string& delta, const std::string& more = "") {
  return absl::StrCat(R"(data: {"id":"c1","model":"m","choices":[{"index":0,"delta":)", delta, more, "}]}\n\n");
}
inline const std::string kUsageChunk =
    "data: {\"id\":\"c1\",\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":3,\"total_tokens\":12,"
    "\"prompt_tokens_details\":{\"cached_tokens\":4}}}\n\n";
inline const std::string kEndMark = "data: [DONE]\n\n";
inline const std::string kOpening = Chunk(R"({"role":"assistant","content":""})");
inline const std::string kStopped = Chunk("{}", R"(,"finish_reason":"stop")");

inline std::vector<nlohmann::json> EventsOf(const std::string& stream, bool finish = false, uint64_t unique = 0xa) {
  MessageWriter writer(unique);
  std::string text(writer.Take(stream));
  if (finish) absl::StrAppend(&text, writer.Finish());
  std::vector<nlohmann::json> events;
  SseSplitter splitter;
  splitter.Feed(text);
  while (const auto event = splitter.Next()) {
    if (event->comment) continue;
    events.push_back(nlohmann::json::parse(event->data.begin(), event->data.end(), nullptr, false));
    EXPECT_FALSE(events.back().is_discarded()) << event->data;
    if (events.back().is_object()) {
      EXPECT_EQ(events.back()["type"], std::string(event->name));
    }
  }
  return events;
}

inline std::vector<std::string> TypesOf(const std::vector<nlohmann::json>& events) {
  std::vector<std::string> types;
  for (const nlohmann::json& event : events) types.push_back(event["type"]);
  return types;
}

}  // namespace penstock::anthropic

#endif  // PENSTOCK_TESTS_ANTHROPIC_MESSAGE_STREAMS_H_
