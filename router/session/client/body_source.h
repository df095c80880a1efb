// The body of a request that is read piece by piece. One coroutine of the request's loop uses it.
#ifndef PENSTOCK_ROUTER_SESSION_CLIENT_BODY_SOURCE_H_
#define PENSTOCK_ROUTER_SESSION_CLIENT_BODY_SOURCE_H_

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "router/openai/error/api_error.h"

namespace penstock {

struct BodyPiece {
  enum class State : uint8_t {
    kBytes,
    kEnd,     // The body is complete.
    kFailed,  // It is malformed or too slow; `error` is the answer.
    kGone,    // The client left.
  };
  State state = State::kEnd;
  absl::string_view bytes;  // Valid until the next call.
  ApiError error;
};

class BodySource {
 public:
  // Lets a client begin that waits for leave. Before the first Next().
  virtual void Begin() = 0;
  virtual boost::asio::awaitable<BodyPiece> Next() = 0;
  // As announced; nullopt: not.
  virtual std::optional<uint64_t> length() const = 0;
  // The bytes of a body in pieces that came so far.
  virtual uint64_t taken() const = 0;

 protected:
  ~BodySource() = default;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SESSION_CLIENT_BODY_SOURCE_H_
