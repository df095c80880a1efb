// Text inside a JSON string.
#ifndef PENSTOCK_BACKENDS_SIMULATED_MESSAGES_JSON_TEXT_H_
#define PENSTOCK_BACKENDS_SIMULATED_MESSAGES_JSON_TEXT_H_

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace penstock::simulated {

// Appends `text` as it stands between the quotes of a JSON string. Plain words cost one pass and one copy.
inline void AppendEscaped(std::string_view text, std::string& out) {
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c != '"' && c != '\\'; });
  if (plain) {
    out += text;
    return;
  }
  const std::string quoted =
      nlohmann::json(std::string(text)).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  out.append(quoted, 1, quoted.size() - 2);
}

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_MESSAGES_JSON_TEXT_H_
