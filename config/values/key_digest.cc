#include "config/values/key_digest.h"

#include <openssl/sha.h>

namespace penstock {

std::string KeyDigest(absl::string_view key) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(key.data()), key.size(),
         reinterpret_cast<unsigned char*>(digest.data()));
  return digest;
}

}  // namespace penstock
