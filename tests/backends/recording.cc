#include "tests/backends/recording.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/source_dir.h"

namespace penstock {

std::string RecordedResponse(const std::string& name) {
  const std::string path = SourcePath("tests/data/llama-server/" + name + ".txt");
  std::ifstream file(path, std::ios::binary);
  std::stringstream all;
  all << file.rdbuf();
  const std::string text = all.str();
  const std::string mark = "=== RESPONSE ";
  const size_t at = text.find(mark);
  if (at == std::string::npos) {
    ADD_FAILURE() << "no recording " << path;
    return "";
  }
  const size_t size = std::stoul(text.substr(at + mark.size()));
  return text.substr(text.find('\n', at) + 1, size);
}

std::string RecordedBody(const std::string& name) {
  const std::string response = RecordedResponse(name);
  const size_t head_end = response.find("\r\n\r\n");
  if (head_end == std::string::npos) return "";
  std::string body = response.substr(head_end + 4);
  if (response.substr(0, head_end).find("chunked") == std::string::npos) return body;
  std::string joined;
  while (!body.empty()) {
    const size_t line = body.find("\r\n");
    if (line == std::string::npos) break;
    const size_t size = std::stoul(body.substr(0, line), nullptr, 16);
    if (size == 0) break;
    joined += body.substr(line + 2, size);
    body.erase(0, std::min(body.size(), line + 2 + size + 2));
  }
  return joined;
}

std::vector<OwnedEvent> Split(const std::string& text, size_t piece) {
  SseSplitter splitter;
  std::vector<OwnedEvent> events;
  for (size_t at = 0; at < text.size(); at += std::min(piece, text.size() - at)) {
    splitter.Feed(absl::string_view(text).substr(at, piece));
    while (auto event = splitter.Next()) {
      events.push_back({std::string(event->raw), std::string(event->data), std::string(event->name), event->comment,
                        event->garbled});
    }
  }
  return events;
}

StreamFacts Read(Endpoint endpoint, const OwnedEvent& event) {
  SseSplitter::Event view;
  view.raw = event.raw;
  view.data = event.data;
  view.name = event.name;
  view.comment = event.comment;
  return ReadStreamEvent(endpoint, view);
}

StreamFacts ReadData(Endpoint endpoint, const std::string& data) {
  return Read(endpoint, OwnedEvent{"data: " + data + "\n\n", data, ""});
}

}  // namespace penstock
