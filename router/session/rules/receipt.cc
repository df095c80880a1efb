#include "router/session/rules/receipt.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "router/openai/error/api_error.h"

namespace penstock {

bool WantsReceipt(const HeaderList& headers) { return FindHeader(headers, kReceiptHeader) == "1"; }

std::string ReceiptJson(const Receipt& receipt) {
  const Forward& forward = receipt.forward;
  return absl::StrCat(
      "{\"replica\":", JsonQuote(receipt.replica), ",\"class\":", JsonQuote(receipt.service_class),
      absl::StrFormat(",\"waited_ms\":%.1f,\"expected_ttft_ms\":%.1f,\"peak_share\":%.4f",
                      forward.waited.milliseconds(), forward.expected_ttft.milliseconds(), forward.peak_share),
      receipt.prefill.empty() ? ""
                              : absl::StrCat(",\"prefill\":{\"replica\":", JsonQuote(receipt.prefill),
                                             ",\"handed_over\":", receipt.handed_over ? "true" : "false", "}"),
      receipt.park ? absl::StrCat(",\"waited_for\":", JsonQuote(TraitsOf(receipt.park->reason).label)) : "",
      ",\"prompt_tokens_estimate\":", receipt.prompt_estimate.value(), ",\"attempts\":", receipt.attempts,
      ",\"resumes\":", receipt.resumes, ",\"request\":", JsonQuote(receipt.request),
      receipt.trace.empty() ? "" : absl::StrCat(",\"trace\":", JsonQuote(receipt.trace)), "}");
}

}  // namespace penstock
