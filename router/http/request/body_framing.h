// Finds a request's body in the bytes behind its head: by length, or in chunks. No I/O; it stores no byte.
//
// Next() takes all framing that the input has, so a part of a line never waits in a buffer. One owner. A byte of a
// chunk line costs a few nanoseconds, a byte of the body nothing.
#ifndef PENSTOCK_ROUTER_HTTP_REQUEST_BODY_FRAMING_H_
#define PENSTOCK_ROUTER_HTTP_REQUEST_BODY_FRAMING_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace penstock {

class BodyFraming {
 public:
  static constexpr size_t kMaxChunkLine = 4 << 10;
  // Chunk lines may be longer than their chunks by so much in all, after a small allowance per chunk.
  static constexpr size_t kMaxExcess = 16 << 10;

  enum class Fault { kNone, kMalformed, kLineTooLong, kExcess, kTrailersTooLarge, kBodyTooLarge };
  struct Limits {
    uint64_t body = 0;    // Bytes of the body without its framing.
    size_t trailers = 0;  // Bytes of all trailers.
  };

  // No body.
  BodyFraming() = default;
  static BodyFraming OfLength(uint64_t length, const Limits& limits);
  static BodyFraming InChunks(const Limits& limits);

  // Removes framing and the next piece of the body from `input`, and returns the piece. Empty: the body is complete,
  // the input is exhausted, or fault() is set.
  absl::string_view Next(absl::string_view& input);
  bool done() const { return state_ == State::kDone && fault_ == Fault::kNone; }
  Fault fault() const { return fault_; }
  // Bytes of the body that are announced and have not come. Of chunks, only the present one counts.
  uint64_t announced() const { return left_; }

 private:
  // The names say which byte is expected.
  enum class State : uint8_t {
    kDone,
    kLength,  // A byte of a body with a length.
    kFirstDigit,
    kDigit,
    kGap,
    kExtension,
    kLineEnd,
    kData,
    kDataReturn,
    kDataEnd,
    kTrailerStart,
    kTrailerName,
    kTrailerValue,
    kTrailerEnd,
    kLastEnd,
  };

  void TakeFraming(char c);
  void TakeDigit(char c);
  void TakeLineByte(char c);
  void TakeTrailerByte(char c);
  void EndLine(char c);
  void Expect(char c, char wanted, State next);
  void Fail(Fault fault) { fault_ = fault; }

  State state_ = State::kDone;
  Fault fault_ = Fault::kNone;
  Limits limits_;
  uint64_t left_ = 0;  // The rest of the present chunk, or of a body with a length.
  uint64_t body_ = 0;  // Announced so far.
  size_t line_ = 0;    // Bytes of the present chunk line.
  size_t excess_ = 0;  // Bytes of chunk lines beyond the allowance of their chunks.
  size_t trailers_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_REQUEST_BODY_FRAMING_H_
