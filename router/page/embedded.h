// The bytes of the page's files; cmake/embed.cmake writes their definitions. Private to router/page.
#ifndef PENSTOCK_ROUTER_PAGE_EMBEDDED_H_
#define PENSTOCK_ROUTER_PAGE_EMBEDDED_H_

#include "absl/strings/string_view.h"

namespace penstock::embedded {

extern const absl::string_view kPageHtml;
extern const absl::string_view kPageCss;
extern const absl::string_view kPageJs;
extern const absl::string_view kOpenapi;

}  // namespace penstock::embedded

#endif  // PENSTOCK_ROUTER_PAGE_EMBEDDED_H_
