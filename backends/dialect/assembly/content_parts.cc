#include "backends/dialect/assembly/content_parts.h"

namespace penstock {

bool TakeContentPart(JsonScanner& scanner, ContentPart* part) {
  if (!scanner.TakeRaw(&part->raw)) return false;
  JsonScanner inside(part->raw);
  if (inside.Peek() == '"') {
    part->is_text = true;
    return inside.TakeString(&part->text);
  }
  bool any_text = false;
  bool other = inside.Peek() != '{';
  inside.ForEachMember([&](absl::string_view key) {
    absl::string_view value;
    if (!inside.TakeRaw(&value)) return false;
    const bool string = value.size() > 1 && value.front() == '"';
    if (key == "text" && string) {
      any_text = true;
      part->text = value.substr(1, value.size() - 2);
    } else {
      other |= value != "null" && !(key == "type" && value == "\"text\"");
    }
    return true;
  });
  part->is_text = any_text && !other;
  return true;
}

}  // namespace penstock
