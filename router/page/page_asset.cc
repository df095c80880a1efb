#include "router/page/page_asset.h"

#include <array>

#include "router/page/embedded.h"

namespace penstock {
namespace {

const std::array<PageAsset, 4> kAssets = {{
    {"", "text/html; charset=utf-8", embedded::kPageHtml},
    {"page.css", "text/css; charset=utf-8", embedded::kPageCss},
    {"page.js", "text/javascript; charset=utf-8", embedded::kPageJs},
    {"openapi.json", "application/json", embedded::kOpenapi},
}};

}  // namespace

const PageAsset* FindPageAsset(absl::string_view name) {
  for (const PageAsset& asset : kAssets) {
    if (asset.name == name) return &asset;
  }
  return nullptr;
}

}  // namespace penstock
