#include "router/http/http2/stream_table.h"

#include <algorithm>
#include <utility>

namespace penstock::http2 {

std::shared_ptr<Stream> StreamTable::Share(StreamId stream) const {
  const auto found = streams_.find(stream);
  return found == streams_.end() ? nullptr : found->second;
}

Stream* StreamTable::Find(StreamId stream) const {
  const auto found = streams_.find(stream);
  return found == streams_.end() ? nullptr : found->second.get();
}

void StreamTable::LoseAll() {
  for (const auto& [id, stream] : streams_) stream->MarkGone();
}

bool StreamTable::HasPart() const {
  return std::any_of(streams_.begin(), streams_.end(), [](const auto& entry) { return !entry.second->begun(); });
}

void StreamTable::RefuseParts(const ApiError& error) {
  for (const auto& [id, stream] : streams_) {
    stream->Hurry();
    StreamBody& body = stream->body();
    // A handler that began before the end of its body takes it in pieces, and answers with the error.
    if (!body.ended() && (!stream->begun() || body.wanted())) body.Fail(error);
  }
}

// A stream that was reset may still have a handler that ends.
bool StreamTable::OnHead(StreamId stream, bool trailers) {
  if (trailers) return true;
  if (streams_.size() >= 2 * static_cast<size_t>(host_.limits().max_streams)) return false;
  Edge& edge = host_.loop().edge();
  FairShare memory(&edge.bodies, peer_.account());
  if (!memory.GrowTo(Stream::kBytes, host_.limits().max_body_memory)) {
    edge.telemetry->OnTurnedAway(TurnedAway::kBodyMemory);
    return false;
  }
  streams_.emplace(stream, std::make_shared<Stream>(host_, stream, peer_, use_, std::move(memory)));
  return true;
}

void StreamTable::OnField(StreamId stream, absl::string_view name, absl::string_view value) {
  if (Stream* known = Find(stream)) known->TakeField(name, value);
}

void StreamTable::OnBadField(StreamId stream) {
  if (Stream* known = Find(stream)) known->head().FailField();
}

void StreamTable::OnHeadEnd(StreamId stream, bool ended) {
  if (Stream* known = Find(stream)) known->EndHead(service_, ended);
}

void StreamTable::OnBody(StreamId stream, absl::string_view bytes) {
  Stream* const known = Find(stream);
  known != nullptr ? known->body().Take(bytes) : host_.session().ConsumeConnection(bytes.size());
}

void StreamTable::OnBodyEnd(StreamId stream) {
  if (Stream* known = Find(stream)) known->body().End();
}

void StreamTable::OnClosed(StreamId stream) {
  if (Stream* known = Find(stream)) known->OnClosed();
}

void StreamTable::OnMalformed() {
  malformed_ = true;
  host_.loop().edge().telemetry->OnBadInput(BadInput::kMalformedHttp2);
}

size_t StreamTable::OnRoom(StreamId stream, std::span<uint8_t> into, bool& ended) {
  Stream* const known = Find(stream);
  if (known != nullptr) return known->Take(into, ended);
  ended = true;
  return 0;
}

}  // namespace penstock::http2
