// Sixteen bytes looked at together, for scans of long texts. Compiles to vector instructions where there are any.
#ifndef PENSTOCK_KVMODEL_BYTE_BLOCK_H_
#define PENSTOCK_KVMODEL_BYTE_BLOCK_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace penstock {

using ByteBlock = uint8_t __attribute__((vector_size(16)));
inline constexpr size_t kBlockBytes = sizeof(ByteBlock);

inline ByteBlock LoadBlock(const void* bytes) {
  ByteBlock block;
  std::memcpy(&block, bytes, kBlockBytes);
  return block;
}

// Position of the first byte that is not zero in a result of comparisons; kBlockBytes when there is none.
inline size_t FirstSet(ByteBlock mask) {
  static_assert(std::endian::native == std::endian::little);
  uint64_t halves[2];
  std::memcpy(halves, &mask, kBlockBytes);
  if (halves[0] != 0) return static_cast<size_t>(std::countr_zero(halves[0])) / 8;
  if (halves[1] != 0) return 8 + static_cast<size_t>(std::countr_zero(halves[1])) / 8;
  return kBlockBytes;
}

inline bool AnySet(ByteBlock mask) {
  uint64_t halves[2];
  std::memcpy(halves, &mask, kBlockBytes);
  return (halves[0] | halves[1]) != 0;
}

inline int64_t SumOfBytes(ByteBlock block) {
  int64_t sum = 0;
  for (size_t i = 0; i < kBlockBytes; ++i) sum += block[i];
  return sum;
}

}  // namespace penstock

#endif  // PENSTOCK_KVMODEL_BYTE_BLOCK_H_
