#include "router/http/coding/gzip_encoder.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <string>

namespace penstock {
namespace {

std::string Encoded(absl::string_view text) {
  GzipEncoder encoder;
  EXPECT_TRUE(encoder.ready());
  std::string out;
  while (!text.empty()) {
    const size_t before = text.size();
    encoder.Add(text, out);
    EXPECT_LE(before - text.size(), GzipEncoder::kSlice);
  }
  encoder.Finish(out);
  return out;
}

std::string Decoded(const std::string& coded, size_t size) {
  z_stream z{};
  EXPECT_EQ(inflateInit2(&z, MAX_WBITS + 16), Z_OK);
  std::string in = coded, out(size + 1, 0);
  z.next_in = reinterpret_cast<Bytef*>(in.data());
  z.avail_in = static_cast<uInt>(in.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(inflate(&z, Z_FINISH), Z_STREAM_END);
  out.resize(z.total_out);
  inflateEnd(&z);
  return out;
}

TEST(GzipEncoder, WhatItWritesReadsBack) {
  for (const size_t size : {size_t{0}, size_t{1}, GzipEncoder::kSlice, GzipEncoder::kSlice + 1, size_t{300'000}}) {
    std::string text;
    for (size_t i = 0; text.size() < size; ++i) text += std::to_string(i * 2654435761u % 1000003);
    text.resize(size);
    EXPECT_EQ(Decoded(Encoded(text), size), text) << size;
    EXPECT_EQ(Gzipped(text), Encoded(text)) << size;
  }
}

TEST(GzipEncoder, BytesWithoutPatternStayWhole) {
  std::string noise(200'000, 0);
  uint64_t seed = 1;
  for (char& c : noise) c = static_cast<char>((seed = seed * 6364136223846793005u + 1442695040888963407u) >> 56);
  EXPECT_EQ(Decoded(Encoded(noise), noise.size()), noise);
}

}  // namespace
}  // namespace penstock
