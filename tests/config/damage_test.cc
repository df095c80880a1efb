#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "config/config.h"
#include "tests/source_dir.h"

namespace penstock {
namespace {

std::string FullExample() {
  std::ifstream file(SourcePath("config/examples/full.yaml"));
  return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
}

// Replaces, inserts, removes or repeats a piece.
std::string Damaged(std::string text, std::mt19937& random) {
  static const std::string kPieces[] = {"{",  "}",     "[",    "]", ":", "- ",     "\n", "  ", "&a ",
                                        "*a", "<<: ",  "\"",   "'", "|", "!!int ", "? ", "~",  "#",
                                        "-1", "1e999", "null", ",", "%", "---\n",  "\t", "0x"};
  for (int damages = 1 + static_cast<int>(random() % 4); damages > 0; --damages) {
    const size_t at = random() % text.size();
    const size_t length = random() % 12;
    switch (random() % 3) {
      case 0:
        text.insert(at, kPieces[random() % std::size(kPieces)]);
        break;
      case 1:
        text.erase(at, length);
        break;
      default:
        text.insert(random() % text.size(), text.substr(at, length));
    }
  }
  return text;
}

TEST(Damage, DamagedFilesAreFindingsOrConfigurationsAndNeverACrash) {
  constexpr unsigned kSeed = 20'240'611;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  const std::string full = FullExample();
  ASSERT_FALSE(full.empty());
  int findings = 0;
  for (int i = 0; i < 400; ++i) {
    const absl::StatusOr<Config> config = ParseConfig(Damaged(full, random), "f.yaml");
    if (config.ok()) continue;
    ++findings;
    EXPECT_EQ(config.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(std::string(config.status().message()).rfind("f.yaml:", 0), 0u) << config.status();
  }
  EXPECT_GT(findings, 200);
}

}  // namespace
}  // namespace penstock
