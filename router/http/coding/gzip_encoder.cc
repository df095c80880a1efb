#include "router/http/coding/gzip_encoder.h"

#define ZLIB_CONST
#include <zlib.h>

#include <algorithm>
#include <array>

namespace penstock {
namespace {

constexpr int kGzip = MAX_WBITS + 16;
constexpr int kMemory = 8;

}  // namespace

struct GzipEncoder::Stream {
  Stream() { ready = deflateInit2(&z, Z_BEST_SPEED, Z_DEFLATED, kGzip, kMemory, Z_DEFAULT_STRATEGY) == Z_OK; }
  ~Stream() {
    if (ready) deflateEnd(&z);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  z_stream z{};
  bool ready = false;
};

GzipEncoder::GzipEncoder() : stream_(std::make_unique<Stream>()) {}
GzipEncoder::~GzipEncoder() = default;

bool GzipEncoder::ready() const { return stream_->ready; }

void GzipEncoder::Add(absl::string_view& input, std::string& out) {
  const size_t some = std::min(input.size(), kSlice);
  stream_->z.next_in = reinterpret_cast<const Bytef*>(input.data());
  stream_->z.avail_in = static_cast<uInt>(some);
  Run(Z_NO_FLUSH, out);
  input.remove_prefix(some);
}

void GzipEncoder::Finish(std::string& out) {
  stream_->z.avail_in = 0;
  Run(Z_FINISH, out);
}

// Without an output buffer of its own that is full, zlib has taken all of its input.
void GzipEncoder::Run(int flush, std::string& out) {
  std::array<char, 8 << 10> made;
  int status = Z_OK;
  do {
    stream_->z.next_out = reinterpret_cast<Bytef*>(made.data());
    stream_->z.avail_out = static_cast<uInt>(made.size());
    status = deflate(&stream_->z, flush);
    out.append(made.data(), made.size() - stream_->z.avail_out);
  } while (status == Z_OK && stream_->z.avail_out == 0);
}

std::string Gzipped(absl::string_view text) {
  GzipEncoder encoder;
  std::string out;
  if (!encoder.ready()) return out;
  while (!text.empty()) encoder.Add(text, out);
  encoder.Finish(out);
  return out;
}

}  // namespace penstock
