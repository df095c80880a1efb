#include "router/http/pages/metrics_desk.h"

#include "router/http/pages/metrics_page.h"

namespace penstock {

MetricsDesk::MetricsDesk(EventLoop& maker)
    : making_(maker, [&maker] {
        const FleetBook& book = maker.fleet()->book;
        return std::make_shared<const MetricsText>(MetricsPage(maker.edge(), book.config().limits, &book));
      }) {}

}  // namespace penstock
