#include "router/openai/request/body_decoder.h"

#define ZLIB_CONST
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cassert>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace penstock {
namespace {

constexpr int kRaw = -MAX_WBITS;
constexpr int kZlib = MAX_WBITS;
constexpr int kGzipOnly = MAX_WBITS + 16;
constexpr int kZstdWindow = 23;  // As a power of two.
constexpr size_t kZstdBlocks = 512 << 10;
// A body may have megabytes that yield nothing, so a step is bounded by its input too.
constexpr size_t kMostInput = 8 << 10;

// HTTP calls zlib's format deflate, and some clients send deflate itself.
int WindowOf(ContentCoding coding, absl::string_view coded) {
  if (coding == ContentCoding::kGzip) return kGzipOnly;
  if (coded.size() < 2) return kZlib;
  const auto first = static_cast<unsigned char>(coded[0]);
  const auto second = static_cast<unsigned char>(coded[1]);
  return (first & 0x0F) == Z_DEFLATED && (first * 256 + second) % 31 == 0 ? kZlib : kRaw;
}

}  // namespace

struct BodyDecoder::Stream {
  Stream(int window, absl::string_view coded) : left(coded) { ready = inflateInit2(&z, window) == Z_OK; }
  ~Stream() {
    if (ready) inflateEnd(&z);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Inflates into `out` what fits, of at most kMostInput bytes. The status of zlib.
  int Inflate(char* out, size_t size, size_t& made) {
    const size_t some = std::min(left.size(), kMostInput);
    z.next_in = reinterpret_cast<const Bytef*>(left.data());
    z.avail_in = static_cast<uInt>(some);
    z.next_out = reinterpret_cast<Bytef*>(out);
    z.avail_out = static_cast<uInt>(size);
    const int status = inflate(&z, Z_NO_FLUSH);
    left.remove_prefix(some - z.avail_in);
    made = size - z.avail_out;
    return status;
  }

  z_stream z{};
  absl::string_view left;
  bool ready = false;
};

struct BodyDecoder::Frames {
  explicit Frames(absl::string_view coded) : left(coded), stream(ZSTD_createDStream()) {
    ready = stream != nullptr && ZSTD_isError(ZSTD_DCtx_setParameter(stream, ZSTD_d_windowLogMax, kZstdWindow)) == 0;
  }
  ~Frames() { ZSTD_freeDStream(stream); }
  Frames(const Frames&) = delete;
  Frames& operator=(const Frames&) = delete;

  absl::string_view left;
  ZSTD_DStream* stream;
  bool ready = false;
};

ContentCoding CodingOf(absl::string_view content_encoding) {
  const absl::string_view coding = absl::StripAsciiWhitespace(content_encoding);
  if (coding.empty() || absl::EqualsIgnoreCase(coding, "identity")) return ContentCoding::kNone;
  if (absl::EqualsIgnoreCase(coding, "gzip") || absl::EqualsIgnoreCase(coding, "x-gzip")) return ContentCoding::kGzip;
  if (absl::EqualsIgnoreCase(coding, "zstd")) return ContentCoding::kZstd;
  return absl::EqualsIgnoreCase(coding, "deflate") ? ContentCoding::kDeflate : ContentCoding::kUnknown;
}

BodyDecoder::BodyDecoder(ContentCoding coding, absl::string_view coded) : coding_(coding) {
  assert(coding != ContentCoding::kNone && coding != ContentCoding::kUnknown);
  if (coding == ContentCoding::kZstd) {
    frames_ = std::make_unique<Frames>(coded);
  } else {
    stream_ = std::make_unique<Stream>(WindowOf(coding, coded), coded);
  }
}

BodyDecoder::~BodyDecoder() = default;

BodyDecoder::Progress BodyDecoder::Advance(char* out, size_t room, size_t& made) {
  made = 0;
  if (coding_ == ContentCoding::kZstd) return AdvanceFrames(out, room, made);
  if (!stream_->ready) return Progress::kBroken;
  const size_t before = stream_->left.size();
  const int status = stream_->Inflate(out, std::min<size_t>(room, std::numeric_limits<uInt>::max()), made);
  if (status == Z_STREAM_END) return AfterEnd();
  // Without progress there is either no more input, or a fault.
  const bool progress = made > 0 || stream_->left.size() < before;
  return (status == Z_OK || status == Z_BUF_ERROR) && progress ? Progress::kMore : Progress::kBroken;
}

BodyDecoder::Progress BodyDecoder::AdvanceFrames(char* out, size_t room, size_t& made) {
  if (!frames_->ready) return Progress::kBroken;
  ZSTD_inBuffer in{frames_->left.data(), std::min(frames_->left.size(), kMostInput), 0};
  ZSTD_outBuffer into{out, room, 0};
  const size_t status = ZSTD_decompressStream(frames_->stream, &into, &in);
  if (ZSTD_isError(status) != 0) return Progress::kBroken;
  frames_->left.remove_prefix(in.pos);
  made = into.pos;
  if (status == 0 && frames_->left.empty()) return Progress::kDone;
  return made > 0 || in.pos > 0 ? Progress::kMore : Progress::kBroken;
}

size_t BodyDecoder::MostMemory(ContentCoding coding) {
  return coding == ContentCoding::kZstd ? (size_t{1} << kZstdWindow) + kZstdBlocks : 0;
}

// A gzip body may have several members.
BodyDecoder::Progress BodyDecoder::AfterEnd() {
  if (stream_->left.empty()) return Progress::kDone;
  const bool more = coding_ == ContentCoding::kGzip && inflateReset(&stream_->z) == Z_OK;
  return more ? Progress::kMore : Progress::kBroken;
}

}  // namespace penstock
