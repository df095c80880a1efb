// The content of a delta or a message that is a list of parts, as some engines give it. Pure.
#ifndef PENSTOCK_BACKENDS_DIALECT_ASSEMBLY_CONTENT_PARTS_H_
#define PENSTOCK_BACKENDS_DIALECT_ASSEMBLY_CONTENT_PARTS_H_

#include <cstddef>

#include "absl/strings/string_view.h"
#include "backends/dialect/assembly/answer_bounds.h"
#include "backends/dialect/json_scanner.h"

namespace penstock {

// One part. `text` views the inside of its string where it is {"type":"text","text":".."} or a bare string. A part with
// any other member that is not null is no text: something of it would be lost.
struct ContentPart {
  absl::string_view raw;
  absl::string_view text;
  bool is_text = false;
};

// Consumes one part. False: not JSON.
bool TakeContentPart(JsonScanner& scanner, ContentPart* part);

// Calls visit(text) for each text of content that is a string, null or a list of texts. False: not JSON, more than
// kMostListed texts, or any other value: it would be lost.
template <class Visit>
bool ForEachContentText(JsonScanner& scanner, Visit&& visit) {
  const char first = scanner.Peek();
  if (first == 'n') return scanner.Skip();
  if (first == '"') {
    absl::string_view text;
    if (!scanner.TakeString(&text)) return false;
    visit(text);
    return true;
  }
  size_t parts = 0;
  return first == '[' && scanner.ForEachElement([&] {
    ContentPart part;
    if (++parts > kMostListed || !TakeContentPart(scanner, &part) || !part.is_text) return false;
    visit(part.text);
    return true;
  });
}

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_DIALECT_ASSEMBLY_CONTENT_PARTS_H_
