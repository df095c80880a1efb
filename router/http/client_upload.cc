#include "router/http/client_upload.h"

#include <utility>

#include "router/http/client_connection.h"

namespace penstock {
namespace asio = boost::asio;

void ClientUpload::Expect() {
  input_.reader().UseBody(BodyUse::kPieces);
  expected_ = unread_ = true;
}

void ClientUpload::Drop() {
  input_.reader().UseBody(BodyUse::kDropped);
  dropped_ = unread_ = true;
}

ClientRequest ClientUpload::Take() {
  length_ = input_.head().length;
  taken_ = 0;
  ClientRequest request;
  if (expected_ || dropped_) {
    static_cast<RequestHead&>(request) = input_.head();
    whole_ = absl::string_view();
  } else {
    request = input_.Take();
    whole_ = request.body.view();
  }
  return request;
}

asio::awaitable<std::optional<BadInput>> ClientUpload::DropRest() {
  const ClientInput::Event event = co_await input_.Next();
  unread_ = event != ClientInput::Event::kRequest;
  co_return event == ClientInput::Event::kFailed ? input_.error().bad_input : std::nullopt;
}

bool ClientUpload::Finish() {
  whole_ = absl::string_view();
  const bool apart = std::exchange(expected_, false) || std::exchange(dropped_, false);
  if (apart && !unread_) (void)input_.Take();
  return !unread_;
}

void ClientUpload::Begin() {
  if (unread_ && input_.AwaitsContinue()) connection_.WriteSmall(ClientConnection::kContinue);
}

asio::awaitable<BodyPiece> ClientUpload::Next() {
  BodyPiece piece;
  if (!unread_) {
    piece.bytes = std::exchange(whole_, absl::string_view());
    taken_ += piece.bytes.size();
    if (!piece.bytes.empty()) piece.state = BodyPiece::State::kBytes;
    co_return piece;
  }
  const ClientInput::Event event = co_await input_.Next();
  if (event == ClientInput::Event::kPiece || event == ClientInput::Event::kRequest) {
    unread_ = event == ClientInput::Event::kPiece;
    piece.bytes = input_.head().body.view();
    taken_ += piece.bytes.size();
    if (!piece.bytes.empty()) piece.state = BodyPiece::State::kBytes;
  } else if (event == ClientInput::Event::kFailed) {
    piece.state = BodyPiece::State::kFailed;
    piece.error = input_.error();
  } else {
    piece.state = BodyPiece::State::kGone;
    connection_.Close();
  }
  co_return piece;
}

}  // namespace penstock
