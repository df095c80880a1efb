// The levels and the forms of log lines.
#ifndef PENSTOCK_BASE_LOG_FORM_H_
#define PENSTOCK_BASE_LOG_FORM_H_

#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace penstock {

// From the least to the most lines.
enum class LogLevel : uint8_t { kError, kWarning, kInfo, kDebug };
inline constexpr std::array<absl::string_view, 4> kLogLevelNames = {"error", "warning", "info", "debug"};
constexpr absl::string_view NameOf(LogLevel level) { return kLogLevelNames[static_cast<size_t>(level)]; }

enum class LogFormat : uint8_t {
  kAuto,  // Text on a terminal, else JSON.
  kJson,
  kText,
};
inline constexpr std::array<absl::string_view, 3> kLogFormatNames = {"auto", "json", "text"};

}  // namespace penstock

#endif  // PENSTOCK_BASE_LOG_FORM_H_
