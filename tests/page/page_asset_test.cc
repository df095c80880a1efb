#include "router/page/page_asset.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/source_dir.h"

namespace penstock {
namespace {

std::string FileAt(const std::string& path) {
  std::ifstream file(SourcePath(path), std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::string AssetOf(const char* name) {
  const PageAsset* asset = FindPageAsset(name);
  return asset == nullptr ? std::string() : std::string(asset->body);
}

TEST(PageAssets, AreTheFilesByteForByte) {
  EXPECT_EQ(AssetOf(""), FileAt("router/page/assets/page.html"));
  EXPECT_EQ(AssetOf("page.css"), FileAt("router/page/assets/page.css"));
  EXPECT_EQ(AssetOf("openapi.json"), FileAt("docs/openapi.json"));
  const std::string folder = "router/page/assets/";
  EXPECT_EQ(AssetOf("page.js"), FileAt(folder + "shapes.js") + FileAt(folder + "charts.js") +
                                    FileAt(folder + "states.js") + FileAt(folder + "tables.js") +
                                    FileAt(folder + "shadow.js") + FileAt(folder + "page.js"));
}

TEST(PageAssets, HaveNoOtherNames) {
  EXPECT_EQ(FindPageAsset("page.html"), nullptr);
  EXPECT_EQ(FindPageAsset("state"), nullptr);
}

}  // namespace
}  // namespace penstock
