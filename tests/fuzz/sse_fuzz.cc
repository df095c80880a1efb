// Any bytes, in pieces of any size, split into events whose raw views are those bytes; every event is read as every
// dialect. The first byte chooses the size of the pieces.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "backends/dialect/answer_reader.h"
#include "backends/dialect/assembly/stream_assembler.h"
#include "backends/dialect/endpoint.h"
#include "backends/dialect/sse_splitter.h"
#include "backends/dialect/stream_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using penstock::Endpoint;
  if (size == 0) return 0;
  const size_t piece = 1 + data[0];
  const absl::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  penstock::SseSplitter splitter;
  penstock::StreamAssembler assembler(Endpoint::kChat);
  std::string seen;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    splitter.Feed(bytes.substr(at, piece));
    while (auto event = splitter.Next()) {
      seen.append(event->raw.data(), event->raw.size());
      for (Endpoint endpoint : {Endpoint::kChat, Endpoint::kCompletions, Endpoint::kResponses}) {
        penstock::ReadStreamEvent(endpoint, *event);
      }
      penstock::ReadAnswer(Endpoint::kChat, event->data);
      assembler.Add(event->data).IgnoreError();
    }
  }
  seen.append(splitter.Rest().data(), splitter.Rest().size());
  if (seen != bytes) std::abort();
  assembler.Finish().IgnoreError();
  return 0;
}
