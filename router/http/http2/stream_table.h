// The streams of one connection of HTTP/2, fed by its session. Belongs to one loop.
#ifndef PENSTOCK_ROUTER_HTTP_HTTP2_STREAM_TABLE_H_
#define PENSTOCK_ROUTER_HTTP_HTTP2_STREAM_TABLE_H_

#include <memory>
#include <span>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "router/http/exchange/request_service.h"
#include "router/http/http2/session.h"
#include "router/http/http2/stream.h"
#include "router/http/http2/stream_host.h"

namespace penstock::http2 {

class StreamTable final : public Session::Owner {
 public:
  StreamTable(StreamHost& host, RequestService& service, const ClientPeer& peer, ClientChannel::Use use)
      : host_(host), service_(service), peer_(peer), use_(use) {}

  // Null: there is none.
  std::shared_ptr<Stream> Share(StreamId stream) const;
  void Erase(StreamId stream) { streams_.erase(stream); }
  bool empty() const { return streams_.empty(); }
  size_t size() const { return streams_.size(); }
  // A request is there in part.
  bool HasPart() const;
  // Requests whose body is there in part end with this error.
  void RefuseParts(const ApiError& error);
  // The client of all is gone.
  void LoseAll();
  // A message broke the rules of HTTP/2, and was counted.
  bool malformed() const { return malformed_; }

  bool OnHead(StreamId stream, bool trailers) override;
  void OnField(StreamId stream, absl::string_view name, absl::string_view value) override;
  void OnBadField(StreamId stream) override;
  void OnHeadEnd(StreamId stream, bool ended) override;
  void OnBody(StreamId stream, absl::string_view bytes) override;
  void OnBodyEnd(StreamId stream) override;
  void OnClosed(StreamId stream) override;
  void OnMalformed() override;
  size_t OnRoom(StreamId stream, std::span<uint8_t> into, bool& ended) override;

 private:
  Stream* Find(StreamId stream) const;

  StreamHost& host_;
  RequestService& service_;
  const ClientPeer& peer_;
  const ClientChannel::Use use_;
  absl::flat_hash_map<StreamId, std::shared_ptr<Stream>> streams_;
  bool malformed_ = false;
};

}  // namespace penstock::http2

#endif  // PENSTOCK_ROUTER_HTTP_HTTP2_STREAM_TABLE_H_
