#include "router/openai/request/body_decoder.h"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <string>

namespace penstock {
namespace {

constexpr int kGzip = MAX_WBITS + 16;
constexpr int kZlib = MAX_WBITS;
constexpr int kRaw = -MAX_WBITS;

std::string Deflated(const std::string& text, int window) {
  z_stream z{};
  EXPECT_EQ(deflateInit2(&z, Z_BEST_COMPRESSION, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string coded(deflateBound(&z, text.size()) + 64, 0);
  std::string in = text;
  z.next_in = reinterpret_cast<Bytef*>(in.data());
  z.avail_in = static_cast<uInt>(in.size());
  z.next_out = reinterpret_cast<Bytef*>(coded.data());
  z.avail_out = static_cast<uInt>(coded.size());
  EXPECT_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
  coded.resize(z.total_out);
  deflateEnd(&z);
  return coded;
}

struct Decoded {
  BodyDecoder::Progress end = BodyDecoder::Progress::kMore;
  std::string body;
  size_t slices = 0;
};

Decoded Decode(ContentCoding coding, const std::string& coded, size_t room, size_t most = 1 << 20) {
  Decoded decoded;
  BodyDecoder decoder(coding, coded);
  std::string slice(room, 0);
  while (decoded.end == BodyDecoder::Progress::kMore && decoded.body.size() < most) {
    size_t made = 0;
    decoded.end = decoder.Advance(slice.data(), room, made);
    EXPECT_LE(made, room);
    decoded.body.append(slice, 0, made);
    ++decoded.slices;
  }
  return decoded;
}

std::string Text() {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += "line " + std::to_string(i * 7919 % 1000) + "\n";
  return text;
}

TEST(BodyDecoder, EveryCodingReadsBackInSlicesOfAnySize) {
  const struct {
    ContentCoding coding;
    int window;
  } rows[] = {{ContentCoding::kGzip, kGzip}, {ContentCoding::kDeflate, kZlib}, {ContentCoding::kDeflate, kRaw}};
  for (const std::string& text : {std::string(), std::string("{}"), Text()}) {
    for (const auto& row : rows) {
      for (const size_t room : {size_t{1}, size_t{7}, size_t{4096}, size_t{1} << 20}) {
        const Decoded decoded = Decode(row.coding, Deflated(text, row.window), room);
        EXPECT_EQ(decoded.end, BodyDecoder::Progress::kDone) << row.window << " " << room;
        EXPECT_EQ(decoded.body, text);
      }
    }
  }
}

std::string InZstd(const std::string& text, int window = 0) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  if (window > 0) ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window);
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, window > 0 ? 0 : 1);
  std::string coded(ZSTD_compressBound(text.size()) + 64, 0);
  ZSTD_inBuffer in{text.data(), text.size(), 0};
  ZSTD_outBuffer out{coded.data(), coded.size(), 0};
  // The library would shrink the window to a text that it knows as a whole.
  if (window > 0) {
    EXPECT_EQ(ZSTD_compressStream2(context, &out, &in, ZSTD_e_flush), 0u);
  }
  EXPECT_EQ(ZSTD_compressStream2(context, &out, &in, ZSTD_e_end), 0u);
  ZSTD_freeCCtx(context);
  coded.resize(out.pos);
  return coded;
}

TEST(BodyDecoder, ZstdReadsBackInSlicesOfAnySizeAndFrames) {
  for (const std::string& text : {std::string(), std::string("{}"), Text()}) {
    for (const size_t room : {size_t{1}, size_t{7}, size_t{4096}, size_t{1} << 20}) {
      const Decoded decoded = Decode(ContentCoding::kZstd, InZstd(text) + InZstd(text), room);
      EXPECT_EQ(decoded.end, BodyDecoder::Progress::kDone) << room;
      EXPECT_EQ(decoded.body, text + text);
    }
  }
}

TEST(BodyDecoder, ZstdThatIsCutOrWantsALongWindowIsBroken) {
  const std::string coded = InZstd(Text());
  for (const std::string& bad :
       {std::string(), std::string("nonsense"), coded.substr(0, coded.size() - 1), coded + "x"}) {
    EXPECT_EQ(Decode(ContentCoding::kZstd, bad, 4096).end, BodyDecoder::Progress::kBroken);
  }
  const std::string text(1 << 16, 'a');
  EXPECT_EQ(Decode(ContentCoding::kZstd, InZstd(text, 23), 4096).end, BodyDecoder::Progress::kDone);
  EXPECT_EQ(Decode(ContentCoding::kZstd, InZstd(text, 26), 4096).end, BodyDecoder::Progress::kBroken);
}

TEST(BodyDecoder, AGzipBodyMayHaveSeveralMembers) {
  const Decoded decoded = Decode(ContentCoding::kGzip, Deflated("{\"a\":", kGzip) + Deflated("1}", kGzip), 100);
  EXPECT_EQ(decoded.end, BodyDecoder::Progress::kDone);
  EXPECT_EQ(decoded.body, "{\"a\":1}");
}

TEST(BodyDecoder, WhatIsCutOrNotInTheCodingIsBroken) {
  const std::string whole = Deflated(Text(), kGzip);
  for (size_t size = 0; size < whole.size(); size += 1 + size / 8) {
    EXPECT_EQ(Decode(ContentCoding::kGzip, whole.substr(0, size), 4096).end, BodyDecoder::Progress::kBroken) << size;
  }
  std::string wrong_sum = whole;
  wrong_sum[whole.size() - 6] ^= 1;
  for (const std::string& broken : {std::string("{\"model\":\"m\"}"), whole + "x", wrong_sum}) {
    EXPECT_EQ(Decode(ContentCoding::kGzip, broken, 4096).end, BodyDecoder::Progress::kBroken);
  }
  EXPECT_EQ(Decode(ContentCoding::kDeflate, Deflated("{}", kZlib) + "x", 4096).end, BodyDecoder::Progress::kBroken);
}

TEST(BodyDecoder, ABombGivesNoMoreThanItsRoom) {
  const std::string bomb = Deflated(std::string(64 << 20, ' '), kGzip);
  EXPECT_LT(bomb.size(), size_t{100} << 10);
  const Decoded decoded = Decode(ContentCoding::kGzip, bomb, 64 << 10, /*most=*/1 << 20);
  EXPECT_EQ(decoded.end, BodyDecoder::Progress::kMore);
  EXPECT_EQ(decoded.body.size(), size_t{1} << 20);
  EXPECT_GE(decoded.slices, 16u);
}

TEST(BodyDecoder, InputThatYieldsNothingIsTakenInSlicesToo) {
  std::string empty_blocks;
  for (int i = 0; i < 200'000; ++i) empty_blocks.append("\0\0\0\xff\xff", 5);
  const Decoded decoded = Decode(ContentCoding::kDeflate, empty_blocks + std::string("\3\0", 2), 64 << 10);
  EXPECT_EQ(decoded.end, BodyDecoder::Progress::kDone);
  EXPECT_TRUE(decoded.body.empty());
  EXPECT_GE(decoded.slices, empty_blocks.size() / (8 << 10));
}

TEST(BodyDecoder, CodingsAreNamed) {
  for (const char* none : {"", "identity", " Identity "}) EXPECT_EQ(CodingOf(none), ContentCoding::kNone) << none;
  for (const char* gzip : {"gzip", "GZIP", "x-gzip"}) EXPECT_EQ(CodingOf(gzip), ContentCoding::kGzip) << gzip;
  EXPECT_EQ(CodingOf("deflate"), ContentCoding::kDeflate);
  EXPECT_EQ(CodingOf("ZSTD"), ContentCoding::kZstd);
  for (const char* unknown : {"br", "compress", "gzip, gzip", "gzip,", "*"}) {
    EXPECT_EQ(CodingOf(unknown), ContentCoding::kUnknown) << unknown;
  }
}

}  // namespace
}  // namespace penstock
