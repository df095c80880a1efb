// The receipt: the router's decision about a request, for a client that asked with `x-penstock-receipt: 1`. Pure.
#ifndef PENSTOCK_ROUTER_SESSION_RULES_RECEIPT_H_
#define PENSTOCK_ROUTER_SESSION_RULES_RECEIPT_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "base/units.h"
#include "router/core/contract/action.h"
#include "router/openai/request/header_rules.h"

namespace penstock {

inline constexpr absl::string_view kReceiptHeader = "x-penstock-receipt";

struct Receipt {
  std::string request;  // Its id.
  std::string trace;    // Empty: none.
  std::string replica;
  std::string prefill;       // The replica that the prompt was sent to; empty: the one above.
  bool handed_over = false;  // Its cache came from there.
  std::string service_class;
  Forward forward;           // The last one.
  std::optional<Park> park;  // The last one; unset: the request did not wait.
  Tokens prompt_estimate{0};
  int attempts = 0;
  int resumes = 0;
};

bool WantsReceipt(const HeaderList& headers);
// One JSON object without line breaks.
std::string ReceiptJson(const Receipt& receipt);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SESSION_RULES_RECEIPT_H_
