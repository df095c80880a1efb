// Decompresses a request body, in slices and within a limit.
//
// A small body may stand for a huge one: the output is bounded, and memory grows with the output only. One owner; the
// coded bytes outlive it. Costs about 3 ns per byte of output.
#ifndef PENSTOCK_ROUTER_OPENAI_REQUEST_BODY_DECODER_H_
#define PENSTOCK_ROUTER_OPENAI_REQUEST_BODY_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"

namespace penstock {

enum class ContentCoding : uint8_t { kNone, kGzip, kDeflate, kUnknown };

// The coding that a Content-Encoding field names; empty and identity are kNone. Several codings are kUnknown.
ContentCoding CodingOf(absl::string_view content_encoding);

class BodyDecoder {
 public:
  enum class Progress : uint8_t {
    kMore,
    kDone,
    kTooLong,  // The body would be longer than the limit.
    kBroken,   // The bytes are not in the coding, or break off.
  };
  // `coding` is kGzip or kDeflate.
  BodyDecoder(ContentCoding coding, absl::string_view coded, size_t limit);
  ~BodyDecoder();
  BodyDecoder(const BodyDecoder&) = delete;
  BodyDecoder& operator=(const BodyDecoder&) = delete;

  // Appends about `bytes` bytes of the body. Not to be called again after anything but kMore.
  Progress Advance(std::string& body, size_t bytes);

 private:
  struct Stream;
  Progress AfterEnd();

  const ContentCoding coding_;
  const size_t limit_;
  std::unique_ptr<Stream> stream_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_OPENAI_REQUEST_BODY_DECODER_H_
