// API keys are compared and held as digests only: a core dump or a log of the configuration has no key in it.
#ifndef PENSTOCK_CONFIG_VALUES_KEY_DIGEST_H_
#define PENSTOCK_CONFIG_VALUES_KEY_DIGEST_H_

#include <string>

#include "absl/strings/string_view.h"

namespace penstock {

// A printed configuration shows this text instead of a secret.
inline constexpr absl::string_view kHiddenSecret = "***";

// SHA-256 of a key: 32 bytes. Keys are random and long, so neither salt nor stretching would add to it.
std::string KeyDigest(absl::string_view key);

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_VALUES_KEY_DIGEST_H_
