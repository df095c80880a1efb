#include "kvmodel/prompt/media_rules.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(MediaRules, TheNameOfAModelTellsItsFamily) {
  EXPECT_EQ(FamilyOf("Qwen/Qwen2.5-VL-7B-Instruct"), MediaFamily::kQwen);
  EXPECT_EQ(FamilyOf("qwen2.5vl:7b"), MediaFamily::kQwen);
  EXPECT_EQ(FamilyOf("Qwen/Qwen3-VL-30B-A3B"), MediaFamily::kQwen3);
  EXPECT_EQ(FamilyOf("mistralai/Pixtral-12B-2409"), MediaFamily::kPixtral);
  EXPECT_EQ(FamilyOf("llava-hf/llava-1.5-7b-hf"), MediaFamily::kLlava);
  EXPECT_EQ(FamilyOf("llava-hf/llava-v1.6-mistral-7b-hf"), MediaFamily::kLlavaNext);
  EXPECT_EQ(FamilyOf("llava-hf/llava-onevision-qwen2-7b-ov-hf"), MediaFamily::kOneVision);
  EXPECT_EQ(FamilyOf("OpenGVLab/InternVL3-8B"), MediaFamily::kInternVl);
  EXPECT_EQ(FamilyOf("google/gemma-3-27b-it"), MediaFamily::kGemma);
  EXPECT_EQ(FamilyOf("vision"), MediaFamily::kOther);
}

// The figures of the families' own processors for these sizes.
TEST(MediaRules, PicturesHaveTheTokensOfTheirFamily) {
  EXPECT_EQ(PictureTokens(MediaFamily::kQwen, {1288, 728}), 46 * 26 + 2);
  EXPECT_EQ(PictureTokens(MediaFamily::kQwen, {14, 14}), 4 + 2);
  EXPECT_EQ(PictureTokens(MediaFamily::kQwen3, {640, 480}), 20 * 15 + 2);
  EXPECT_EQ(PictureTokens(MediaFamily::kPixtral, {1024, 1024}), 65 * 64);
  EXPECT_EQ(PictureTokens(MediaFamily::kPixtral, {2048, 1024}), 65 * 32);
  EXPECT_EQ(PictureTokens(MediaFamily::kLlava, {30, 3000}), 576);
  EXPECT_EQ(PictureTokens(MediaFamily::kLlavaNext, {672, 672}), 576 + 49 * 48);
  EXPECT_EQ(PictureTokens(MediaFamily::kOneVision, {640, 480}), 2929);
  EXPECT_EQ(PictureTokens(MediaFamily::kInternVl, {448, 448}), 256 + 2);
  EXPECT_EQ(PictureTokens(MediaFamily::kInternVl, {1344, 896}), 256 * 7 + 2);
  EXPECT_EQ(PictureTokens(MediaFamily::kMiniCpm, {448, 448}), 69);
  EXPECT_EQ(PictureTokens(MediaFamily::kMiniCpm, {1920, 1080}), 598);
  EXPECT_EQ(PictureTokens(MediaFamily::kGemma, {4000, 3000}), 260);
  EXPECT_EQ(PictureTokens(MediaFamily::kLlama4, {300, 200}), 147);
  EXPECT_EQ(PictureTokens(MediaFamily::kLlama4, {1920, 1080}), 2322);
  EXPECT_EQ(PictureTokens(MediaFamily::kOther, {750, 1000}), 1000);
}

TEST(MediaRules, NoPictureHasNoTokensOrAbsurdlyMany) {
  for (int family = 0; family < kMediaFamilies; ++family) {
    for (const PictureSize size :
         {PictureSize{1, 1}, PictureSize{1, kMostPixels}, PictureSize{kMostPixels, kMostPixels}}) {
      const int64_t tokens = PictureTokens(static_cast<MediaFamily>(family), size);
      EXPECT_GE(tokens, 1) << family;
      EXPECT_LE(tokens, 20'000) << family;
    }
    EXPECT_GT(SoundTokensPerSecond(static_cast<MediaFamily>(family)), 0);
  }
}

}  // namespace
}  // namespace penstock
