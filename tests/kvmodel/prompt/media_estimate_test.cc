#include "kvmodel/prompt/media_estimate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "kvmodel/prompt/input_estimate.h"

namespace penstock {
namespace {

constexpr ModelId kSeeing(1);

// A prompt with a short text and a picture or two of drawn size.
InputCounts DrawPictures(std::mt19937& random, MediaFamily family) {
  InputCounts input{CountText("please say what you see in this picture and in the one beside it, in one sentence")};
  input.text.messages = 1;
  input.family = family;
  for (uint32_t i = 0; i <= random() % 2; ++i) {
    const auto side = [&] { return static_cast<int64_t>(100 + random() % 1500); };
    input.media.AddPicture(PictureSize{side(), side()}, false);
  }
  return input;
}

struct MediaErrors {
  double median;
  double above_upper;
};

MediaErrors MeasureMedia(InputEstimator& estimator, MediaFamily family, int warmup,
                         const std::function<int64_t(const MediaCounts&)>& count) {
  std::mt19937 random(11);
  std::vector<double> errors;
  int above = 0;
  for (int i = 0; i < warmup + 300; ++i) {
    const InputCounts input = DrawPictures(random, family);
    const int64_t actual = 24 + count(input.media);
    const PromptEstimate estimate = estimator.Estimate(kSeeing, input);
    if (i >= warmup) {
      errors.push_back(std::abs(estimate.tokens.AsDouble() / static_cast<double>(actual) - 1));
      above += actual > estimate.Upper().value() ? 1 : 0;
    }
    estimator.Observe(kSeeing, input, Tokens(actual));
  }
  std::sort(errors.begin(), errors.end());
  return {errors[errors.size() / 2], above / 300.0};
}

int64_t ByQwen(const MediaCounts& media) { return media.plain[static_cast<size_t>(MediaFamily::kQwen)]; }

TEST(MediaEstimator, ThePicturesOfAKnownFamilyAreRightFromTheStart) {
  InputEstimator estimator;
  const MediaErrors errors = MeasureMedia(estimator, MediaFamily::kQwen, 0, ByQwen);
  EXPECT_LT(errors.median, 0.03);
  EXPECT_LT(errors.above_upper, 0.08);
}

TEST(MediaEstimator, AnEngineThatGivesEachPictureAConstantIsFollowed) {
  InputEstimator estimator;
  const MediaErrors errors =
      MeasureMedia(estimator, MediaFamily::kOther, 50, [](const MediaCounts& media) { return 256 * media.pictures; });
  EXPECT_LT(errors.median, 0.03);
  EXPECT_LT(errors.above_upper, 0.08);
}

TEST(MediaEstimator, AModelOfAnUnknownNameIsLearned) {
  InputEstimator estimator;
  const MediaErrors errors = MeasureMedia(estimator, MediaFamily::kOther, 50, ByQwen);
  EXPECT_LT(errors.median, 0.05);
}

TEST(MediaEstimator, AnEngineThatChangesIsFollowed) {
  InputEstimator estimator;
  MeasureMedia(estimator, MediaFamily::kQwen, 700, ByQwen);
  const MediaErrors errors =
      MeasureMedia(estimator, MediaFamily::kQwen, 200, [](const MediaCounts& media) { return ByQwen(media) / 4; });
  EXPECT_LT(errors.median, 0.05);
}

TEST(MediaEstimator, RemotePicturesTeachTheirMeanAndKeepTheirSpread) {
  InputEstimator estimator;
  std::mt19937 random(3);
  InputCounts input{CountText("what is this")};
  input.media.unsized = 1;
  EXPECT_GT(estimator.Estimate(kSeeing, input).relative_sigma, 0.5);
  for (int i = 0; i < 300; ++i) estimator.Observe(kSeeing, input, Tokens(5 + 100 + random() % 401));
  const PromptEstimate after = estimator.Estimate(kSeeing, input);
  EXPECT_NEAR(after.tokens.AsDouble(), 305, 45);
  EXPECT_GT(after.relative_sigma, 0.2);
  EXPECT_LT(after.relative_sigma, 0.7);
}

TEST(MediaEstimator, SoundIsLearnedBySeconds) {
  InputEstimator estimator;
  std::mt19937 random(4);
  InputCounts input{CountText("write down what she says")};
  for (int i = 0; i < 100; ++i) {
    input.media.seconds = 1 + random() % 60;
    estimator.Observe(kSeeing, input, Tokens(8 + std::llround(12.5 * input.media.seconds)));
  }
  input.media.seconds = 40;
  EXPECT_NEAR(estimator.Estimate(kSeeing, input).tokens.AsDouble(), 508, 25);
}

TEST(MediaEstimator, PicturesTeachNothingAboutText) {
  InputEstimator estimator;
  const InputCounts text{CountText("what is this picture about")};
  const PromptEstimate before = estimator.Estimate(kSeeing, text);
  MeasureMedia(estimator, MediaFamily::kOther, 0, [](const MediaCounts&) { return 9'000; });
  EXPECT_EQ(estimator.Estimate(kSeeing, text).tokens, before.tokens);
  EXPECT_EQ(estimator.Estimate(kSeeing, text).relative_sigma, before.relative_sigma);
}

TEST(MediaEstimator, EveryModelLearnsForItself) {
  InputEstimator estimator;
  std::mt19937 random(5);
  const InputCounts input = DrawPictures(random, MediaFamily::kQwen);
  const PromptEstimate before = estimator.Estimate(ModelId(2), input);
  MeasureMedia(estimator, MediaFamily::kQwen, 0, [](const MediaCounts&) { return 10; });
  EXPECT_EQ(estimator.Estimate(ModelId(2), input).tokens, before.tokens);
}

TEST(MediaEstimator, HostileCountsLeaveEstimatesFinite) {
  InputEstimator estimator;
  std::mt19937 random(6);
  for (int i = 0; i < 5'000; ++i) {
    InputCounts input;
    input.text.latin = random() % 100;
    input.media.AddPicture(PictureSize{static_cast<int64_t>(1 + random() % kMostPixels), 1}, random() % 2 == 0);
    input.media.unsized = random() % 10'000'000;
    input.media.seconds = random() % 1'000'000;
    input.media.opaque = random() % 10'000'000;
    estimator.Observe(kSeeing, input, Tokens(random() % 1'000'000'000));
    const PromptEstimate estimate = estimator.Estimate(kSeeing, input);
    ASSERT_GE(estimate.tokens, Tokens(1)) << "seed 6, step " << i;
    ASSERT_LE(estimate.tokens.AsDouble(), 1e12) << "seed 6, step " << i;
    ASSERT_TRUE(std::isfinite(estimate.relative_sigma)) << "seed 6, step " << i;
  }
  const MediaErrors errors = MeasureMedia(estimator, MediaFamily::kQwen, 400, ByQwen);
  EXPECT_LT(errors.median, 0.05) << "recovers";
}

InputCounts TensorOf(int64_t tokens, int64_t row) {
  InputCounts input;
  input.media.embedded = tokens * row;
  return input;
}

TEST(MediaEstimator, ATensorIsNeverNothingAndNothingIsSureAboutIt) {
  const InputEstimator estimator;
  // The rows of small and of large models: 1024 numbers of 16 bits, 8192 of 32.
  for (const int64_t row : {2048, 8192, 32'768}) {
    const PromptEstimate estimate = estimator.Estimate(kSeeing, TensorOf(2000, row));
    EXPECT_GE(estimate.Upper(), Tokens(2000)) << row;
    EXPECT_GE(2 * estimate.relative_sigma, 1) << "it may be any shorter";
  }
}

TEST(MediaEstimator, TheRowsOfTensorsAreLearnedFromUsage) {
  InputEstimator estimator;
  for (const int64_t tokens : {500, 3000, 1200, 40, 2500})
    estimator.Observe(kSeeing, TensorOf(tokens, 8192), Tokens(tokens));
  const PromptEstimate learned = estimator.Estimate(kSeeing, TensorOf(2000, 8192));
  EXPECT_NEAR(learned.tokens.AsDouble(), 2000, 40);
  EXPECT_GE(learned.Upper(), Tokens(2000));
}

}  // namespace
}  // namespace penstock
