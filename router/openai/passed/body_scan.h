// The scan of any body: that of an endpoint whose fields the router knows, or that of a passed one. Pure.
#ifndef PENSTOCK_ROUTER_OPENAI_PASSED_BODY_SCAN_H_
#define PENSTOCK_ROUTER_OPENAI_PASSED_BODY_SCAN_H_

#include <optional>
#include <variant>

#include "router/openai/passed/passed_scan.h"
#include "router/openai/request/request_scan.h"

namespace penstock {

class BodyScan {
 public:
  BodyScan(const PassedRequest& request, absl::string_view body, OutputLimits limits) {
    if (NeedsPassedScan(request.endpoint)) {
      passed_.emplace(request, body);
    } else {
      known_.emplace(request.endpoint, body, limits);
    }
  }

  // As those of RequestScan.
  bool Advance() { return passed_ ? passed_->Advance() : known_->Advance(); }
  std::variant<RequestFacts, ApiError> Take() { return passed_ ? passed_->Take() : known_->Take(); }

 private:
  std::optional<RequestScan> known_;
  std::optional<PassedScan> passed_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_OPENAI_PASSED_BODY_SCAN_H_
