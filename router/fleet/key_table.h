// The owners of secret keys, found by digest.
//
// Keys are stored as SHA-256 digests, and a look-up compares the digest of the offered key. Its time may tell how far
// two digests agree. Nobody can use that: to choose a digest, one has to invert SHA-256. So a hash table needs no
// comparison in constant time, and a look-up costs the same with one key and with 50,000. Immutable once it is filled.
#ifndef PENSTOCK_ROUTER_FLEET_KEY_TABLE_H_
#define PENSTOCK_ROUTER_FLEET_KEY_TABLE_H_

#include <cstddef>
#include <functional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"

namespace penstock {

template <class Equal = std::equal_to<std::string>>
class KeyTable {
 public:
  // The last owner of a digest has it.
  void Add(std::string digest, size_t owner) { owners_.insert_or_assign(std::move(digest), owner); }
  // Null: nobody has the key.
  const size_t* Find(const std::string& digest) const {
    const auto found = owners_.find(digest);
    return found == owners_.end() ? nullptr : &found->second;
  }

 private:
  absl::flat_hash_map<std::string, size_t, absl::Hash<std::string>, Equal> owners_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_FLEET_KEY_TABLE_H_
