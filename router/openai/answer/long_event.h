// One event of a stream that is too long for the turn of a loop.
//
// StreamRelay gives it away unread, with the memory that it lies in, and takes it back when it was read. Read() uses
// nothing else, so another thread may run it. Pure; one owner. A byte costs up to 40 ns.
#ifndef PENSTOCK_ROUTER_OPENAI_ANSWER_LONG_EVENT_H_
#define PENSTOCK_ROUTER_OPENAI_ANSWER_LONG_EVENT_H_

#include <memory>

#include "backends/dialect/endpoint.h"
#include "backends/dialect/sse_splitter.h"
#include "backends/dialect/stream_reader.h"
#include "router/openai/answer/chunk_rewrite.h"
#include "router/openai/answer/reassembly.h"

namespace penstock {

// The meaning of an event, long or not.
StreamFacts ReadEvent(Endpoint endpoint, const SseSplitter::Event& event);

struct LongEvent {
  LongEvent(Endpoint its_endpoint, const SseSplitter::Event& its_event) : endpoint(its_endpoint), event(its_event) {}

  // Finds what follows `reassembly`.
  void Read();

  const Endpoint endpoint;
  const SseSplitter::Event event;  // Views of `memory`.
  SseSplitter::Memory memory;
  std::unique_ptr<Reassembly> reassembly;  // Set where the answer is reassembled: it gets the event.

  StreamFacts facts;
  ChunkNames names;
  bool fits = true;  // `reassembly` has room for it.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_OPENAI_ANSWER_LONG_EVENT_H_
