// The receiving end of a session: one request's client, whatever carries its bytes.
//
// A session sends either one whole answer, at once or in parts, or a stream of events. An error takes the place of the
// answer, becomes the last events of a stream, or breaks a whole answer off. The client holds the head of an answer
// back until the first byte of it. Functions that return Written never wait and cost no coroutine. One session uses a
// client at a time, on one loop.
#ifndef PENSTOCK_ROUTER_SESSION_CLIENT_CLIENT_H_
#define PENSTOCK_ROUTER_SESSION_CLIENT_CLIENT_H_

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "router/openai/error/api_error.h"
#include "router/openai/request/header_rules.h"

namespace penstock {

class StreamSocket;

// The part of some bytes that a client took at once.
enum class Written : uint8_t { kAll, kPart, kGone };

// A socket whose bytes belong to another protocol from now on. Its connection still owns it.
struct LentSocket {
  StreamSocket* socket = nullptr;
  std::string unread;  // Bytes that were read already.
};

class Client {
 public:
  // A whole answer. kPart: FinishWhole() has to be awaited next, and `body` must live until then.
  virtual Written Whole(int status, absl::string_view content_type, const HeaderList& headers,
                        absl::string_view body) = 0;
  // The status of the whole answer in parts that begins next, in place of 200.
  virtual void SetStatus(int) {}
  // A whole answer in parts, which End() ends. `length` unset: nobody knows it yet.
  virtual void BeginWhole(absl::string_view content_type, const HeaderList& headers,
                          std::optional<uint64_t> length) = 0;
  // kPart: FinishWhole() has to be awaited next, and `bytes` must live until then.
  virtual Written Part(absl::string_view bytes) = 0;
  // False: the client is gone.
  virtual boost::asio::awaitable<bool> FinishWhole() = 0;

  // Events of a stream, each piece whole. The first call begins the answer with `headers`. kPart: FinishEvents() has to
  // be awaited next, and the bytes of `pieces` must live until then.
  virtual Written Events(const HeaderList& headers, const std::vector<absl::string_view>& pieces) = 0;
  // False: the client is gone.
  virtual boost::asio::awaitable<bool> FinishEvents() = 0;
  // Ends a stream, or a whole answer in parts. False: the client is gone.
  virtual boost::asio::awaitable<bool> End() = 0;

  // The session may outlive its client from now on, if the client allows that.
  virtual void Detach() {}
  // Takes Detach() back. A client that left meanwhile is gone now.
  virtual void Attach() {}

  // The answer begins anew, from its first byte. Only for clients that gather it.
  virtual void Forget() {}

  // Answers with 101 and `headers`, and lends the socket to another protocol for the rest of the connection. Null: this
  // client has none, or is gone.
  virtual boost::asio::awaitable<LentSocket> Switch(const HeaderList&) { co_return LentSocket{}; }

  // Why the answer so far cannot be given as this client needs it, as a sentence; empty: it can. The engine is at
  // fault. Such a client takes nothing but an error any more, as if it were gone.
  virtual std::string unfit() const { return ""; }

  // Answers with an error, or ends a stream with it. A whole answer that has begun breaks off: its connection ends.
  // False: the client is gone.
  virtual boost::asio::awaitable<bool> Error(const ApiError& error) = 0;
  // Shows a waiting client that the router lives, which may begin the answer. Does nothing while a write goes on.
  virtual void KeepAlive(const HeaderList& headers) = 0;

  // The answer has begun: its status and headers cannot change.
  virtual bool begun() const = 0;
  // The status of the answer; 0 before it began.
  virtual int status() const = 0;
  virtual bool gone() const = 0;
  // Calls `on_gone` once if the client goes before Unwatch; at once if it is gone already.
  virtual void Watch(std::function<void()> on_gone) = 0;
  virtual void Unwatch() = 0;

 protected:
  ~Client() = default;
};

// Events(), and FinishEvents() where some bytes are left. `pieces` must live until it returned.
boost::asio::awaitable<bool> SendEvents(Client& client, const HeaderList& headers,
                                        const std::vector<absl::string_view>& pieces);
// Whole(), and FinishWhole() where some bytes are left. `body` must live until it returned.
boost::asio::awaitable<bool> SendWhole(Client& client, int status, absl::string_view content_type,
                                       const HeaderList& headers, absl::string_view body);
// Part(), and FinishWhole() where some bytes are left. `bytes` must live until it returned.
boost::asio::awaitable<bool> SendPart(Client& client, absl::string_view bytes);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SESSION_CLIENT_CLIENT_H_
