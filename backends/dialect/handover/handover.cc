#include "backends/dialect/handover/handover.h"

#include "backends/dialect/json_scanner.h"

namespace penstock {
namespace {

// A decode engine keeps its cache for another one where do_remote_decode is true, and nobody would fetch it.
bool TakesOver(absl::string_view params) {
  bool takes = false, keeps = false;
  int takes_keys = 0, keeps_keys = 0;
  JsonScanner scanner(params);
  const bool json = scanner.WholeObject([&](absl::string_view key) {
    absl::string_view raw;
    if (!scanner.TakeRaw(&raw)) return false;
    // An escaped key may be one of the two.
    keeps |= key.find('\\') != absl::string_view::npos;
    if (key == "do_remote_prefill") takes = raw == "true" && ++takes_keys == 1;
    if (key == "do_remote_decode") keeps |= (raw != "false" && raw != "null") || ++keeps_keys > 1;
    return true;
  });
  return json && takes && !keeps;
}

}  // namespace

HandoverOffer ReadHandover(absl::string_view answer) {
  HandoverOffer offer;
  int fields = 0;
  absl::string_view params;
  JsonScanner scanner(answer);
  scanner.WholeObject([&](absl::string_view key) {
    if (key != kHandoverField) return scanner.Skip();
    ++fields;
    return scanner.TakeRaw(&params);
  });
  if (fields == 0 || (fields == 1 && params == "null")) return offer;
  const bool good = fields == 1 && !params.empty() && params.front() == '{' && TakesOver(params);
  offer.kind = good ? HandoverOffer::Kind::kGood : HandoverOffer::Kind::kFalse;
  if (good) offer.params = std::string(params);
  return offer;
}

}  // namespace penstock
