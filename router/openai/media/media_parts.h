// Pictures and sounds in the parts of a prompt: what the first bytes of each tell. Pure.
//
// A part may be megabytes long. These functions look at both of its ends, and at the header of the file inside. None
// costs more than 20 us, but for a JPEG with much metadata. No address is fetched.
#ifndef PENSTOCK_ROUTER_OPENAI_MEDIA_MEDIA_PARTS_H_
#define PENSTOCK_ROUTER_OPENAI_MEDIA_MEDIA_PARTS_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "kvmodel/prompt/picture_size.h"

namespace penstock {

struct FoundPicture {
  std::optional<PictureSize> size;  // Nothing: an address, or a file that nobody can read here.
  bool low_detail = false;
};

// `raw` is the JSON of a text with a URL, or of an object with one, or of an object with `data`.
FoundPicture PictureIn(absl::string_view raw);
// `raw` is the JSON of an object with `data` or with a URL. Nothing: an address.
std::optional<double> SecondsIn(absl::string_view raw);

// The source of a block in Anthropic's dialect.
enum class SourceKind : uint8_t {
  kText,     // A text or blocks. Its bytes count as text: a whole scan of a long one would hold the loop.
  kPicture,  //
  kOther,    // An encoded document.
};
SourceKind SourceKindOf(absl::string_view raw);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_OPENAI_MEDIA_MEDIA_PARTS_H_
