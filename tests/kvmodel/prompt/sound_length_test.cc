#include "kvmodel/prompt/sound_length.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/kvmodel/prompt/media_files.h"

namespace penstock {
namespace {

using namespace media_files;

double SecondsOf(const std::string& bytes) { return SecondsOfSound(EncodedBytes(Base64(bytes))); }

TEST(SoundLength, OfAWavFileFollowsFromItsRate) {
  EXPECT_NEAR(SecondsOf(Wav(16'000, 3.5, 0)), 3.5, 0.01);
  EXPECT_NEAR(SecondsOf(Wav(44'100, 2, 30)), 2, 0.01);
}

TEST(SoundLength, OfAStreamedWavFileFollowsFromItsBytes) {
  std::string file = Wav(16'000, 3, 0);
  file.replace(file.find("data") + 4, 4, Little(0xFFFFFFFF, 4));
  EXPECT_NEAR(SecondsOf(file), 3, 0.01);
}

TEST(SoundLength, OfAnMp3FileFollowsFromItsBitRate) {
  const std::string frames = "\xFF\xFB\x90\x44" + std::string(160'000 - 4, 'x');  // 128 kbit/s.
  EXPECT_NEAR(SecondsOf(frames), 10, 0.01);
  const std::string tag = "ID3" + std::string("\x04\x00\x00\x00\x00\x01\x00", 7) + std::string(128, 'x');
  EXPECT_NEAR(SecondsOf(tag + frames), 10, 0.01);
}

TEST(SoundLength, OfOtherFilesIsThatOfSpeech) {
  EXPECT_NEAR(SecondsOf("OggS" + std::string(80'000, 'x')), 10, 0.01);
  EXPECT_EQ(SecondsOf(""), 0);
  EXPECT_GE(SecondsOf("ID3\x7F"), 0);
}

}  // namespace
}  // namespace penstock
