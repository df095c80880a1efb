// The files of the page, which the build puts into the binary. Pure.
#ifndef PENSTOCK_ROUTER_PAGE_PAGE_ASSET_H_
#define PENSTOCK_ROUTER_PAGE_PAGE_ASSET_H_

#include "absl/strings/string_view.h"

namespace penstock {

struct PageAsset {
  absl::string_view name;  // The last part of its path; empty: the page itself.
  absl::string_view type;
  absl::string_view body;
};

// Null: there is none of this name.
const PageAsset* FindPageAsset(absl::string_view name);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_PAGE_PAGE_ASSET_H_
