#include "router/openai/media/media_parts.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "router/openai/request/request_scan.h"
#include "tests/kvmodel/prompt/media_files.h"

namespace penstock {
namespace {

using media_files::Base64;
using media_files::Jpeg;
using media_files::Png;
using media_files::Wav;

std::string DataUrl(const std::string& file) { return absl::StrCat("data:image/png;base64,", Base64(file)); }

MediaCounts MediaOf(Endpoint endpoint, const std::string& parts) {
  const std::string field = endpoint == Endpoint::kResponses ? "input" : "messages";
  const auto scanned = ScanRequest(
      endpoint, absl::StrCat(R"({"model":"m",")", field, R"(":[{"role":"user","content":[)", parts, "]}]}"), {});
  const RequestFacts* facts = std::get_if<RequestFacts>(&scanned);
  EXPECT_NE(facts, nullptr) << parts.substr(0, 80);
  return facts == nullptr || !facts->media ? MediaCounts() : *facts->media;
}

TEST(MediaParts, APictureInADataUrlTellsItsSize) {
  const PictureSize size{640, 480};
  const std::string url = DataUrl(Png(640, 480));
  EXPECT_EQ(PictureIn("\"" + url + "\"").size, size);
  EXPECT_EQ(PictureIn(R"({"url":")" + url + "\"}").size, size);
  EXPECT_EQ(PictureIn(R"({"detail":"high", "url" : ")" + url + "\"}").size, size);
  EXPECT_EQ(PictureIn(R"({"type":"base64","media_type":"image/png","data":")" + Base64(Png(640, 480)) + "\"}").size,
            size);
}

TEST(MediaParts, AnEscapedSlashIsNoFault) {
  const std::string escaped = absl::StrReplaceAll(DataUrl(Jpeg(4'000, 3'000, 900)), {{"/", "\\/"}});
  ASSERT_NE(escaped.find("\\/", 30), std::string::npos);
  EXPECT_EQ(PictureIn("\"" + escaped + "\"").size, (PictureSize{4'000, 3'000}));
}

TEST(MediaParts, AnAddressTellsNoSize) {
  for (const std::string raw : {R"("https://example.invalid/a.png")", R"({"url":"https://example.invalid/a"})", R"({})",
                                R"({"url":null})", R"("data:image/png;base64,")", R"({"data"})"}) {
    EXPECT_FALSE(PictureIn(raw).size) << raw;
  }
}

TEST(MediaParts, LowDetailIsFoundWhereverItStands) {
  const std::string url = DataUrl(Png(64, 48) + std::string(3'000, 'x'));
  EXPECT_TRUE(PictureIn(R"({"url":")" + url + R"(","detail":"low"})").low_detail);
  EXPECT_TRUE(PictureIn(R"({"detail":"low","url":")" + url + R"("})").low_detail);
  EXPECT_FALSE(PictureIn(R"({"url":")" + url + R"("})").low_detail);
}

TEST(MediaParts, ASoundTellsItsLength) {
  const std::string data = Base64(Wav(16'000, 2, 0));
  EXPECT_NEAR(*SecondsIn(R"({"data":")" + data + R"(","format":"wav"})"), 2, 0.01);
  EXPECT_NEAR(*SecondsIn(R"({"format":"wav","data":")" + data + R"("})"), 2, 0.01);
  EXPECT_NEAR(*SecondsIn(R"({"url":"data:audio/wav;base64,)" + data + R"("})"), 2, 0.01);
  EXPECT_FALSE(SecondsIn(R"({"url":"https://example.invalid/a.wav"})"));
  // An mp3 with escapes, longer than the part that is unescaped.
  std::string long_data = Base64("\xFF\xFB\x90\x44" + std::string(1'600'000 - 4, '\xFF'));
  long_data = absl::StrReplaceAll(long_data, {{"/", "\\/"}});
  EXPECT_NEAR(*SecondsIn(R"({"data":")" + long_data + R"(","format":"mp3"})"), 100, 20);
}

TEST(MediaParts, ChatsCountPicturesAndSounds) {
  const std::string picture = R"({"type":"image_url","image_url":{"url":")" + DataUrl(Png(750, 1000)) + R"("}})";
  const std::string low =
      R"({"type":"image_url","image_url":{"url":")" + DataUrl(Png(750, 1000)) + R"(","detail":"low"}})";
  const std::string remote = R"({"type":"image_url","image_url":{"url":"https://example.invalid/b.png"}})";
  const std::string sound =
      R"({"type":"input_audio","input_audio":{"data":")" + Base64(Wav(8'000, 3, 0)) + R"(","format":"wav"}})";
  const std::string video = R"({"type":"video_url","video_url":{"url":"https://example.invalid/c.mp4"}})";
  const MediaCounts media =
      MediaOf(Endpoint::kChat, absl::StrCat(picture, ",", low, ",", remote, ",", sound, ",", video, ",", picture));
  EXPECT_EQ(media.plain[0], 2'000);
  EXPECT_EQ(media.low[0], 1'000);
  EXPECT_EQ(media.pictures, 3);
  EXPECT_EQ(media.unsized, 1);
  EXPECT_NEAR(media.seconds, 3, 0.01);
  EXPECT_EQ(media.opaque, 1);
}

TEST(MediaParts, TheDetailOfAResponsesPictureStandsBesideIt) {
  const std::string url = R"("image_url":")" + DataUrl(Png(750, 1000)) + "\"";
  for (const std::string& part : {R"({"type":"input_image",)" + url + R"(,"detail":"low"})",
                                  R"({"type":"input_image","detail":"low",)" + url + "}"}) {
    EXPECT_EQ(MediaOf(Endpoint::kResponses, part).low[0], 1'000);
  }
}

TEST(MediaParts, AHostileChatCostsNoMoreThanItsBytes) {
  std::string parts;
  for (int i = 0; i < 3'000; ++i) absl::StrAppend(&parts, i == 0 ? "" : ",", R"({"image_url":"data:;base64,/9j/\/"})");
  EXPECT_EQ(MediaOf(Endpoint::kChat, parts).unsized, 3'000);
  EXPECT_EQ(MediaOf(Endpoint::kChat, R"({"image_url":5},{"image_url":null},{"input_audio":"x"})"), MediaCounts());
}

}  // namespace
}  // namespace penstock
