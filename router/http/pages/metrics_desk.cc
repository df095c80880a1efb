#include "router/http/pages/metrics_desk.h"

#include "router/http/pages/metrics_page.h"

namespace penstock {

MetricsDesk::MetricsDesk(EventLoop& maker)
    : making_(maker, [&maker] {
        return std::make_shared<const std::string>(MetricsPage(maker.edge(), maker.fleet()->config().limits));
      }) {}

}  // namespace penstock
