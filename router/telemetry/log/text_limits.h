// The longest texts of a log entry. Pure.
//
// Clients choose some of the texts, so the log cuts them before an entry waits anywhere.
#ifndef PENSTOCK_ROUTER_TELEMETRY_LOG_TEXT_LIMITS_H_
#define PENSTOCK_ROUTER_TELEMETRY_LOG_TEXT_LIMITS_H_

#include <cstddef>
#include <string>

#include "router/telemetry/log/log_line.h"

namespace penstock {

// In bytes.
inline constexpr size_t kLongestLogText = 512;
inline constexpr size_t kLongestNotice = 4096;

inline size_t LongestMessage(const DecisionEntry& entry) {
  return entry.kind == DecisionEntry::Kind::kNotice ? kLongestNotice : kLongestLogText;
}

// Gives the memory of the rest back.
inline void CutText(std::string& text, size_t longest) {
  if (text.size() <= longest) return;
  text.resize(longest);
  text.shrink_to_fit();
}

inline void CutTexts(DecisionEntry& entry) {
  for (std::string* text :
       {&entry.request_id, &entry.trace_id, &entry.method, &entry.path, &entry.endpoint, &entry.model,
        &entry.service_class, &entry.tenant, &entry.client, &entry.replica, &entry.ended, &entry.reason}) {
    CutText(*text, kLongestLogText);
  }
  CutText(entry.message, LongestMessage(entry));
}

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_TELEMETRY_LOG_TEXT_LIMITS_H_
