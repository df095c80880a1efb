// Decompresses a request body, in slices.
//
// A small body may stand for a huge one, so the caller gives the room for each slice and bounds their sum. One owner;
// the coded bytes outlive it. Holds 40 KiB, for zstd MostMemory(). Costs about 3 ns per byte of output.
#ifndef PENSTOCK_ROUTER_OPENAI_REQUEST_BODY_DECODER_H_
#define PENSTOCK_ROUTER_OPENAI_REQUEST_BODY_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/strings/string_view.h"

namespace penstock {

enum class ContentCoding : uint8_t { kNone, kGzip, kDeflate, kZstd, kUnknown };

// The coding that a Content-Encoding field names; empty and identity are kNone. Several codings are kUnknown.
ContentCoding CodingOf(absl::string_view content_encoding);

class BodyDecoder {
 public:
  enum class Progress : uint8_t {
    kMore,
    kDone,
    kBroken,  // The bytes are not in the coding, or break off.
  };
  // `coding` is neither kNone nor kUnknown.
  BodyDecoder(ContentCoding coding, absl::string_view coded);
  ~BodyDecoder();
  BodyDecoder(const BodyDecoder&) = delete;
  BodyDecoder& operator=(const BodyDecoder&) = delete;

  // Writes the next bytes of the body, at most `room`. A call that writes none has taken coded bytes. Not to be called
  // again after kDone or kBroken.
  Progress Advance(char* out, size_t room, size_t& made);
  // The most bytes that a decoder of the coding holds, as far as they are worth counting. A zstd body may ask for a
  // window of 8 MiB, the least that RFC 8878 wants a decoder to have. One with a longer window is broken.
  static size_t MostMemory(ContentCoding coding);

 private:
  struct Stream;
  struct Frames;
  Progress AfterEnd();
  Progress AdvanceFrames(char* out, size_t room, size_t& made);

  const ContentCoding coding_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Frames> frames_;  // Set for zstd.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_OPENAI_REQUEST_BODY_DECODER_H_
