// One connection of HTTP/2 as nghttp2 reads and writes it: bytes in, calls of its owner out, and bytes out. No I/O.
//
// Receive() and Output() call the owner, who may submit, consume and reset, but not call those two. A client that sends
// many frames without use is a flood (frame_budget.h). Windows are opened by Consume...() alone. Priorities are
// ignored. One owner, one loop. nghttp2 holds about 20 KB for a connection and 1 KB for a stream.
#ifndef PENSTOCK_ROUTER_HTTP_HTTP2_SESSION_H_
#define PENSTOCK_ROUTER_HTTP_HTTP2_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/strings/string_view.h"
#include "backends/dialect/headers.h"
#include "base/units.h"
#include "router/http/http2/frame_budget.h"

// Types of nghttp2, without its header.
struct nghttp2_session;

namespace penstock::http2 {

using StreamId = int32_t;

// The bytes that begin a connection of HTTP/2.
inline constexpr absl::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

class Session {
 public:
  // Bytes that a client may send ahead of the router: of one body, and of all.
  static constexpr int32_t kStreamWindow = 256 << 10;
  static constexpr int32_t kWindow = 1 << 20;

  struct Options {
    uint32_t max_streams = 100;
    uint32_t max_header = 64 << 10;
  };
  enum class Fault : uint8_t { kNone, kMalformed, kFlood, kMemory };

  class Owner {
   public:
    // A request, or its trailers, begin; false: the stream is refused.
    virtual bool OnHead(StreamId stream, bool trailers) = 0;
    virtual void OnField(StreamId stream, absl::string_view name, absl::string_view value) = 0;
    // A field that HTTP/2 forbids was dropped.
    virtual void OnBadField(StreamId stream) = 0;
    // `ended`: no body follows.
    virtual void OnHeadEnd(StreamId stream, bool ended) = 0;
    virtual void OnBody(StreamId stream, absl::string_view bytes) = 0;
    virtual void OnBodyEnd(StreamId stream) = 0;
    // Neither side sends more on the stream.
    virtual void OnClosed(StreamId stream) = 0;
    // The session has refused a message, which breaks the rules of HTTP/2.
    virtual void OnMalformed() = 0;
    // The next bytes of an answer go into `into`. Returns their number. `ended`: they are its last. Neither bytes nor
    // the end: it is called again after Resume().
    virtual size_t OnRoom(StreamId stream, std::span<uint8_t> into, bool& ended) = 0;

   protected:
    ~Owner() = default;
  };

  Session(Owner& owner, const Options& options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Takes bytes off `bytes`: all of them, or as many as are a millisecond's work at most. False: nothing behind them
  // can be read, by fault(). What is left of Output() tells the client.
  bool Receive(absl::string_view& bytes, Instant now);
  // The last call paused. It wants another one, also where no bytes are left: they may have ended a head.
  bool paused() const;
  Fault fault() const { return fault_; }
  // The time since which a part of a head is missing; zero: none is.
  Instant head_since() const { return head_since_; }
  // The next bytes for the client, valid until the next call. Empty: there are none.
  absl::string_view Output();

  // `ended`: the answer is its head alone. Else OnRoom() asks for its bytes.
  void Answer(StreamId stream, int status, const HeaderList& headers, bool ended);
  // 100 (Continue).
  void Continue(StreamId stream);
  void Resume(StreamId stream);
  // Ends the stream: its body is not wanted, or its answer cannot be completed.
  void Drop(StreamId stream);
  void Abort(StreamId stream);
  // Bytes of bodies that were taken: of one stream and of the connection.
  void ConsumeStream(StreamId stream, size_t bytes);
  void ConsumeConnection(size_t bytes);
  // No further request is taken. Those that began go on. `flood`: the client sends too much.
  void GoAway(bool flood);

 private:
  struct Callbacks;
  void Spend(double frames);
  // The router resets a stream with this code.
  void OnReset(uint32_t code);
  // Zero, or the code with which nghttp2 pauses or ends.
  int CountField(size_t bytes);

  Owner& owner_;
  const size_t most_of_head_;
  struct Free {
    void operator()(nghttp2_session* session) const;
  };
  std::unique_ptr<nghttp2_session, Free> session_;
  FrameBudget budget_;
  Instant now_;
  Fault fault_ = Fault::kNone;
  Instant head_since_;
  size_t head_bytes_ = 0;  // Decoded, of the present head.
  size_t decoded_ = 0;     // Bytes of heads in the present call of Receive().
};

}  // namespace penstock::http2

#endif  // PENSTOCK_ROUTER_HTTP_HTTP2_SESSION_H_
