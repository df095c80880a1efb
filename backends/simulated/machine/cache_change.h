// A change of the prefix cache of a simulated engine, as real engines publish it.
#ifndef PENSTOCK_BACKENDS_SIMULATED_MACHINE_CACHE_CHANGE_H_
#define PENSTOCK_BACKENDS_SIMULATED_MACHINE_CACHE_CHANGE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/simulated/machine/mix.h"

namespace penstock::simulated {

struct CacheChange {
  enum class Kind : uint8_t { kStored, kRemoved, kCleared };

  Kind kind = Kind::kStored;
  uint64_t block = 0;
  std::optional<uint64_t> parent;  // The block before a stored one; none: it begins a prompt.
  std::string session;             // The session of the sequence that stored it.
  bool host = false;               // It is the copy in the memory of the host.
  bool operator==(const CacheChange&) const = default;
};

// In their order.
using CacheJournal = std::vector<CacheChange>;

// The tag of content that one sequence alone can find: its serial and the position of the block.
constexpr uint64_t PrivateTag(uint64_t serial, int64_t index) { return serial << 24 | static_cast<uint64_t>(index); }
// The name of that content among all content.
constexpr uint64_t NameOfPrivate(uint64_t tag) { return Mix(tag ^ 0x70726976617465); }
// The name of a sequence's block: the hash of its prompt, or private.
inline uint64_t NameOfBlock(const std::vector<uint64_t>& prompt, uint64_t serial, int64_t index) {
  return index < static_cast<int64_t>(prompt.size()) ? prompt[static_cast<size_t>(index)]
                                                     : NameOfPrivate(PrivateTag(serial, index));
}

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_MACHINE_CACHE_CHANGE_H_
