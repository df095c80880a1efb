// Turns the bytes of one client connection into requests, with limits. No I/O.
//
// Usage: Offer or Append the bytes that were read, then Advance until it wants more. State kHeadDone comes once per
// request whose body has not come with its head. State kPiece comes for parts of a body that is read in pieces. State
// kDone comes when the request is complete. Bytes of a following request stay for the next round. One owner. All bytes
// that it stores beyond a small free part are in a budget.
#ifndef PENSTOCK_ROUTER_HTTP_REQUEST_REQUEST_READER_H_
#define PENSTOCK_ROUTER_HTTP_REQUEST_REQUEST_READER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "base/fair_budget.h"
#include "router/http/request/body_buffer.h"
#include "router/http/request/body_framing.h"
#include "router/http/request/request_head.h"
#include "router/openai/error/api_error.h"

namespace penstock {

struct ClientRequest : RequestHead {
  BodyBuffer body;
  FairShare memory;  // For head and body; small requests hold nothing.
};

// The way of a body that follows its head.
enum class BodyUse : uint8_t { kStored, kDropped, kPieces };

// The largest body of a request, and the bound that an error names.
struct BodyBound {
  // `room`: of a form beside its file; the bound is that of the file.
  // NOLINTNEXTLINE(google-explicit-constructor)
  BodyBound(size_t bytes, size_t room = 0) : most(bytes + room), named(bytes) {}
  size_t most;
  size_t named;
};

class RequestReader {
 public:
  // A buffer or body of so many bytes is bounded by the number of connections; a larger one is in the budget.
  static constexpr size_t kFreeBytes = 4 << 10;
  // Before a request; one more is malformed.
  static constexpr int kMaxEmptyLines = 8;
  // A piece of a body has at least so many bytes, but for the last one.
  static constexpr size_t kPiece = 192 << 10;

  struct Limits {
    size_t header = 64 << 10;
    BodyBound body{64 << 20};
    FairBudget* memory = nullptr;  // Null: unbounded.
    Bytes all_memory{0};
    uint64_t peer = 0;  // The caller until its key is known.
    // That of a request with this head; null: `body`.
    std::function<BodyBound(const RequestHead&)> body_of = nullptr;
  };
  enum class State { kNeedMore, kHeadDone, kPiece, kDone, kFailed };

  explicit RequestReader(const Limits& limits);
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;

  // The caller until its key is known. Before the first bytes.
  void SetPeer(uint64_t peer);

  // Bytes to read on from. Append copies them. Offer leaves them where they are until Advance has taken them or keeps a
  // copy; after kHeadDone they have to stay until the next call.
  void Append(absl::string_view bytes);
  void Offer(absl::string_view bytes);
  State Advance();
  // The error behind kFailed. The connection cannot be used any further.
  const ApiError& error() const { return *error_; }

  // From kHeadDone on: the head. Before, its target alone, as soon as there is a request line. The memory of the
  // request is `caller`'s.
  const ClientRequest& head();
  void SetCaller(uint64_t caller);
  // In pieces: after kPiece and kDone the body of head() is the next piece, until the next call of Advance.
  // The caller of a body that is not stored may let others read into the offered memory first, so its rest is copied
  // now.
  void UseBody(BodyUse use);
  // Takes the request: after kDone, or after kHeadDone when no further request will be read.
  ClientRequest Take();

  // Memory for the body of a request that has not begun; large ones are given back.
  void Reuse(BodyBuffer body);
  // Nothing of a request has arrived yet.
  bool Idle() const;
  // The head is complete, its body is not.
  bool InBody() const { return in_body_; }
  // Bytes that were given and not taken.
  absl::string_view unread() const { return input_; }
  // Copies an offer that Advance() does not see yet.
  void KeepInput();
  // Bytes of the present body that have come.
  uint64_t body_taken() const { return body_taken_; }

 private:
  State AdvanceInput();
  State BeginBody();
  State ReadBody();
  State FailBody();
  bool TakeEmptyLines();
  bool Store(absl::string_view piece);
  bool HoldBuffer(size_t size);
  bool HoldRequest(size_t body);
  State Fail(ApiError error);

  Limits limits_;
  std::optional<RequestHeadParser> head_;
  BodyFraming framing_;
  ClientRequest request_;
  std::string buffer_;
  FairShare buffer_memory_;
  absl::string_view input_;  // Not taken yet; the end of buffer_, or what was offered.
  bool offered_ = false;
  bool in_body_ = false;
  BodyUse body_use_ = BodyUse::kStored;
  int empty_lines_ = 0;  // Before the request.
  size_t head_bytes_ = 0;
  uint64_t body_taken_ = 0;
  BodyBuffer spare_body_;
  std::unique_ptr<const ApiError> error_;  // Set by kFailed.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_REQUEST_REQUEST_READER_H_
