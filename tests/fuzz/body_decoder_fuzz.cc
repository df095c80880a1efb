// Any bytes may be a body in gzip, deflate or zstd. A decoder ends, writes no more than its room, and gives the same
// bytes whatever the size of its slices.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "router/openai/request/body_decoder.h"
#include "tests/fuzz/expect.h"

namespace {

using penstock::BodyDecoder;
using penstock::ContentCoding;

constexpr size_t kMost = 1 << 20;  // A small body may stand for a huge one.

struct Decoded {
  std::string body;
  BodyDecoder::Progress end = BodyDecoder::Progress::kMore;
};

Decoded Decode(ContentCoding coding, absl::string_view coded, size_t slice) {
  Decoded decoded;
  BodyDecoder decoder(coding, coded);
  std::vector<char> room(slice + 1, '#');
  size_t idle = 0;  // Calls that only took coded bytes.
  while (decoded.body.size() < kMost && decoded.end == BodyDecoder::Progress::kMore) {
    size_t made = 0;
    decoded.end = decoder.Advance(room.data(), slice, made);
    Expect(made <= slice && room[slice] == '#', "a decoder stays in its room");
    idle += made == 0 ? 1 : 0;
    Expect(idle <= coded.size() + 1, "a decoder goes on or ends");
    decoded.body.append(room.data(), made);
  }
  return decoded;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t slice = 1 + data[0] * 7;
  const absl::string_view coded(reinterpret_cast<const char*>(data + 1), size - 1);
  for (const ContentCoding coding : {ContentCoding::kGzip, ContentCoding::kDeflate, ContentCoding::kZstd}) {
    const Decoded large = Decode(coding, coded, 4096);
    const Decoded small = Decode(coding, coded, slice);
    const size_t common = std::min(large.body.size(), small.body.size());
    Expect(absl::string_view(large.body).substr(0, common) == absl::string_view(small.body).substr(0, common),
           "slices make no difference");
    const bool both = large.end != BodyDecoder::Progress::kMore && small.end != BodyDecoder::Progress::kMore;
    Expect(!both || large.end == small.end, "slices do not change the end");
  }
  return 0;
}
