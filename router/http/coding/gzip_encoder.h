// Compresses an answer to gzip in slices, so that a long one does not hold its loop.
//
// Level 1: an answer is compressed once and read once. One owner; holds 260 KiB. Costs about 12 ns per byte.
#ifndef PENSTOCK_ROUTER_HTTP_CODING_GZIP_ENCODER_H_
#define PENSTOCK_ROUTER_HTTP_CODING_GZIP_ENCODER_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"

namespace penstock {

class GzipEncoder {
 public:
  // Bytes of input that take a loop far less than a millisecond.
  static constexpr size_t kSlice = 16 << 10;

  GzipEncoder();
  ~GzipEncoder();
  GzipEncoder(const GzipEncoder&) = delete;
  GzipEncoder& operator=(const GzipEncoder&) = delete;

  // False: there was no memory for it; nothing can be compressed.
  bool ready() const;
  // Compresses at most kSlice bytes, and takes them off `input`. The output so far is appended to `out`.
  void Add(absl::string_view& input, std::string& out);
  // Appends the end of the stream.
  void Finish(std::string& out);

 private:
  struct Stream;
  void Run(int flush, std::string& out);
  std::unique_ptr<Stream> stream_;
};

// The whole text in one stream, away from the loops. Empty: there was no memory for it.
std::string Gzipped(absl::string_view text);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_CODING_GZIP_ENCODER_H_
