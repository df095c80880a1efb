// The arguments of a tool's call that end in the middle, because the answer reached its output limit. Pure.
#ifndef PENSTOCK_BACKENDS_DIALECT_ASSEMBLY_CUT_OBJECT_H_
#define PENSTOCK_BACKENDS_DIALECT_ASSEMBLY_CUT_OBJECT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace penstock {

// The text is one JSON object.
bool IsJsonObject(absl::string_view text);

// The object with the members that are whole in `text`. A number at the very end may lack digits, so it is left out.
// Text that is no object, or none yet, gives an empty object. One pass over the text.
std::string WholeMembers(absl::string_view text);

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_DIALECT_ASSEMBLY_CUT_OBJECT_H_
