// Files that a configuration names, and secrets from the environment or from files.
#ifndef PENSTOCK_CONFIG_READ_NAMED_FILES_H_
#define PENSTOCK_CONFIG_READ_NAMED_FILES_H_

#include <string>

#include "absl/status/statusor.h"
#include "config/read/draft.h"

namespace penstock {

// A file of at most `limit` bytes. A relative path starts at `folder`, if that is not empty.
absl::StatusOr<std::string> ReadWholeFile(const std::string& path, const std::string& folder, size_t limit);

// The value of a secret. ${NAME} is replaced from the environment; file:PATH by the content of the file without its
// last line end. InvalidArgument names the variable or the file, never a value.
absl::StatusOr<std::string> ResolveSecret(const std::string& text, Draft& draft);
// The same for a value that may have blanks, as "Bearer ${TOKEN}".
absl::StatusOr<std::string> ResolveHeaderValue(const std::string& text, Draft& draft);
// The digest of an API key, which is a secret or sha256:HEX.
absl::StatusOr<std::string> ResolveKeyDigest(const std::string& text, Draft& draft);

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_READ_NAMED_FILES_H_
