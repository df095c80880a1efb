#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "router/tracing/export/span_exporter.h"
#include "router/tracing/trace_size.h"

namespace penstock {
namespace {

EndedTrace TraceWithState(size_t bytes) {
  EndedTrace trace;
  trace.trace = {1, 2};
  trace.state = std::string(bytes, 'x');
  trace.spans.resize(2);
  return trace;
}

TEST(TraceSize, CountsTheStateWithEverySpanAndTheTexts) {
  EXPECT_EQ(BytesOf(TraceWithState(8000)) - BytesOf(TraceWithState(0)), 16'000u);
  EndedTrace trace = TraceWithState(0);
  const size_t before = BytesOf(trace);
  trace.spans[0].attributes.push_back({"gen_ai.request.model", std::string(500, 'm')});
  trace.spans[1].events.push_back({Instant(), std::string(100, 'e'), {}});
  EXPECT_GE(BytesOf(trace), before + 600);
}

// It is never started: nothing leaves the queue.
TEST(SpanQueue, IsBoundedInBytes) {
  size_t dropped = 0;
  SpanExporter::Options options;
  options.endpoint = "http://127.0.0.1:4318";
  options.max_bytes = 100'000;
  options.count = [&dropped](SpanEnd end, size_t spans) { dropped += end == SpanEnd::kDropped ? spans : 0; };
  auto exporter = SpanExporter::Create(std::move(options));
  ASSERT_TRUE(exporter.ok()) << exporter.status();
  for (int i = 0; i < 20; ++i) (*exporter)->Add(TraceWithState(8000));
  // Six have room: each takes 16 000 bytes and its spans.
  EXPECT_GE(dropped, 2u * 14);
  EXPECT_LT(dropped, 2u * 20);
  // A small one still has.
  const size_t before = dropped;
  (*exporter)->Add(TraceWithState(10));
  EXPECT_EQ(dropped, before);
}

}  // namespace
}  // namespace penstock
