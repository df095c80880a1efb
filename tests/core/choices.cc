#include "tests/core/choices.h"

#include <cstdlib>

namespace penstock::testing {

uint64_t Choices::Below(uint64_t bound) {
  if (data_ == nullptr) {
    // SplitMix64.
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (z ^ (z >> 31)) % bound;
  }
  uint64_t value = 0;
  for (uint64_t covered = 1; covered < bound && left_ > 0; covered <<= 8) {
    value = value << 8 | *data_++;
    --left_;
  }
  return value % bound;
}

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

}  // namespace penstock::testing
