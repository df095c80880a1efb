#include "kvmodel/prompt/picture_size.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/kvmodel/prompt/media_files.h"

namespace penstock {
namespace {

using namespace media_files;

std::optional<PictureSize> SizeOf(const std::string& bytes) { return SizeOfPicture(EncodedBytes(Base64(bytes))); }

TEST(PictureSize, IsReadFromTheHeaderOfEachFormat) {
  const PictureSize size{1920, 1081};
  for (const std::string& file : {Png(1920, 1081), Gif(1920, 1081), Jpeg(1920, 1081, 14), Jpeg(1920, 1081, 60'000),
                                  LossyWebp(1920, 1081), LosslessWebp(1920, 1081), ExtendedWebp(1920, 1081)}) {
    EXPECT_EQ(SizeOf(file), size) << file.substr(0, 16);
  }
}

TEST(PictureSize, IsUnknownWhereTheHeaderIsCut) {
  for (const std::string& file :
       {Png(8, 9), Gif(8, 9), Jpeg(8, 9, 20), LossyWebp(8, 9), LosslessWebp(8, 9), ExtendedWebp(8, 9)}) {
    const size_t needed = file.size() - (file[1] == 'P' ? 2 : file[0] == '\xFF' ? 1 : 0);
    EXPECT_TRUE(SizeOf(file.substr(0, needed)));
    for (size_t bytes = 0; bytes < needed; ++bytes) EXPECT_FALSE(SizeOf(file.substr(0, bytes))) << bytes;
  }
}

TEST(PictureSize, IsUnknownWhereItIsAbsurdOrTheFormatIsAnother) {
  EXPECT_FALSE(SizeOf(Png(0, 10)));
  EXPECT_FALSE(SizeOf(Png(10, 70'000)));
  EXPECT_FALSE(SizeOf("<svg width=\"10\" height=\"10\"></svg>"));
  EXPECT_FALSE(SizeOfPicture(EncodedBytes("not base64 at all!")));
}

TEST(PictureSize, AnySequenceOfBytesIsReadWithoutHarm) {
  std::mt19937 random(7);
  for (int i = 0; i < 20'000; ++i) {
    std::string file = Jpeg(100, 100, 20);
    for (int j = 0; j < 3; ++j) file[random() % file.size()] = static_cast<char>(random());
    std::string text = Base64(file);
    text[random() % text.size()] = static_cast<char>(random());
    if (const auto size = SizeOfPicture(EncodedBytes(text))) {
      EXPECT_TRUE(size->width >= 1 && size->width <= kMostPixels) << "seed 7, step " << i;
    }
  }
}

TEST(EncodedBytes, EqualTheDecodedBytes) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  for (size_t size = 0; size < 20; ++size) {
    const std::string part = bytes.substr(240 - size, size);
    std::string encoded = Base64(part);
    while (!encoded.empty() && encoded.back() == '=') encoded.pop_back();
    const EncodedBytes view(encoded);
    ASSERT_EQ(view.size(), size);
    for (size_t i = 0; i < size; ++i) EXPECT_EQ(view.At(i), static_cast<unsigned char>(part[i]));
    EXPECT_EQ(view.At(size), -1);
  }
}

}  // namespace
}  // namespace penstock
