// The body of a request as its handler takes it: in pieces of some hundred kilobytes, or whole where it came with the
// head.
//
// Pieces are read only when the handler asks, so a slow disk slows its own client. Belongs to a connection and its
// loop.
#ifndef PENSTOCK_ROUTER_HTTP_CLIENT_UPLOAD_H_
#define PENSTOCK_ROUTER_HTTP_CLIENT_UPLOAD_H_

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "router/http/client_input.h"
#include "router/session/client/body_source.h"

namespace penstock {

class ClientConnection;

class ClientUpload final : public BodySource {
 public:
  ClientUpload(ClientConnection& connection, ClientInput& input) : connection_(connection), input_(input) {}

  // After kHead: the body that follows will be taken in pieces.
  void Expect();
  // After kHead: the request is refused whatever its body says. The answer does not wait for the body, which is dropped
  // behind it.
  void Drop();
  // Takes the request from the input: the head alone where its body is expected or dropped.
  ClientRequest Take();
  // After the handler, where dropped(): reads the rest of the body. Returns its fault.
  boost::asio::awaitable<std::optional<BadInput>> DropRest();
  // At the end. False: a part of the body was not read, so no further request can be.
  bool Finish();
  bool dropped() const { return dropped_; }
  // A part of the body was not read yet.
  bool unread() const { return unread_; }
  // An answer from now on is the last one of its connection, because the rest of the body is not read behind it.
  bool BlocksNext() const { return unread_ && !dropped_; }

  void Begin() override;
  boost::asio::awaitable<BodyPiece> Next() override;
  std::optional<uint64_t> length() const override { return length_; }
  uint64_t taken() const override { return taken_; }

 private:
  ClientConnection& connection_;
  ClientInput& input_;
  absl::string_view whole_;         // A body that came with its head, and that nobody took.
  std::optional<uint64_t> length_;  // As announced.
  uint64_t taken_ = 0;
  bool expected_ = false;
  bool dropped_ = false;
  bool unread_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_CLIENT_UPLOAD_H_
