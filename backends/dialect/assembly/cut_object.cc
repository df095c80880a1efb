#include "backends/dialect/assembly/cut_object.h"

#include "absl/strings/str_cat.h"
#include "backends/dialect/json_scanner.h"

namespace penstock {

bool IsJsonObject(absl::string_view text) {
  JsonScanner scanner(text);
  return scanner.WholeObject([&scanner](absl::string_view) { return scanner.Skip(); });
}

std::string WholeMembers(absl::string_view text) {
  JsonScanner scanner(text);
  size_t whole = 0;
  const bool object = scanner.WholeObject([&](absl::string_view) {
    absl::string_view value;
    if (!scanner.TakeRaw(&value)) return false;
    const auto end = static_cast<size_t>(value.data() - text.data()) + value.size();
    const bool closed = value.back() == '"' || value.back() == '}' || value.back() == ']';
    if (closed || end < text.size()) whole = end;
    return true;
  });
  if (object) return std::string(text);
  return whole == 0 ? "{}" : absl::StrCat(text.substr(0, whole), "}");
}

}  // namespace penstock
