// Reads the few facts of a request whose meaning the router does not know: a form in parts, or a configured route.
//
// A JSON body is checked as any other; of a form, the parts that name the model and the prompt are read. A body of
// which nothing is wanted is not looked at. The scan goes on in slices. Pure; the body, the target and the rule outlive
// it.
#ifndef PENSTOCK_ROUTER_OPENAI_PASSED_PASSED_SCAN_H_
#define PENSTOCK_ROUTER_OPENAI_PASSED_PASSED_SCAN_H_

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "config/values/client_config.h"
#include "router/openai/error/api_error.h"
#include "router/openai/passed/form_fields.h"
#include "router/openai/passed/passed_route.h"
#include "router/openai/passed/route_fields.h"
#include "router/openai/request/json_walk.h"
#include "router/openai/request/request_scan.h"

namespace penstock {

// The parts of a request beside its body.
struct PassedRequest {
  Endpoint endpoint = Endpoint::kFreeRoute;
  const RouteConfig* route = nullptr;  // Null: an endpoint whose body is a form.
  absl::string_view target;            // Its path and query.
  absl::string_view content_type;
};

// A path or a body of a kind that a PassedScan reads.
inline bool NeedsPassedScan(Endpoint endpoint) {
  return IsRoute(endpoint) || endpoint == Endpoint::kRealtime || TraitsOf(endpoint).form;
}

// The body is announced as multipart/form-data.
bool IsForm(absl::string_view content_type);

class PassedScan {
 public:
  PassedScan(const PassedRequest& request, absl::string_view body);
  PassedScan(const PassedScan&) = delete;
  PassedScan& operator=(const PassedScan&) = delete;

  // As those of RequestScan.
  bool Advance(size_t bytes = kScanSlice);
  std::variant<RequestFacts, ApiError> Take();

 private:
  enum class Body : uint8_t { kUnread, kJson, kForm };

  bool AdvanceJson(size_t bytes);
  std::optional<ApiError> ReadModel(RequestFacts& facts) const;
  std::optional<ApiError> ReadBodyModel(RequestFacts& facts) const;
  std::optional<ApiError> ReadQueryModel(RequestFacts& facts) const;
  std::optional<ApiError> ReadCost(RequestFacts& facts) const;

  const PassedRequest request_;
  const absl::string_view body_;
  const ModelSource source_;
  const std::vector<std::string> prompts_;
  Body kind_ = Body::kUnread;
  JsonWalk walk_;
  RouteFields fields_;
  std::optional<FormFields> form_;
  size_t checked_ = 0;  // Bytes of a JSON body that are UTF-8.
  std::optional<ApiError> error_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_OPENAI_PASSED_PASSED_SCAN_H_
