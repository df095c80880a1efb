// Sixteen bytes looked at together, for scans of long texts. Compiles to vector instructions where there are any.
#ifndef PENSTOCK_BASE_BYTE_BLOCK_H_
#define PENSTOCK_BASE_BYTE_BLOCK_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace penstock {

using ByteBlock = uint8_t __attribute__((vector_size(16)));
inline constexpr size_t kBlockBytes = sizeof(ByteBlock);

inline ByteBlock LoadBlock(const void* bytes) {
  ByteBlock block;
  std::memcpy(&block, bytes, kBlockBytes);
  return block;
}

// The highest bit of each byte, the first byte's lowest.
inline uint32_t HighBits(ByteBlock block) {
#ifdef __SSE2__
  return static_cast<uint32_t>(_mm_movemask_epi8(reinterpret_cast<__m128i>(block)));
#else
  uint32_t bits = 0;
  for (size_t i = 0; i < kBlockBytes; ++i) bits |= static_cast<uint32_t>(block[i] >> 7) << i;
  return bits;
#endif
}

// Position of the first byte set by a comparison; kBlockBytes when there is none.
inline size_t FirstSet(ByteBlock mask) {
  return static_cast<size_t>(std::countr_zero(HighBits(mask) | uint32_t{1} << kBlockBytes));
}

inline int64_t SumOfBytes(ByteBlock block) {
#ifdef __SSE2__
  const __m128i sums = _mm_sad_epu8(reinterpret_cast<__m128i>(block), _mm_setzero_si128());
  return _mm_cvtsi128_si64(sums) + _mm_cvtsi128_si64(_mm_unpackhi_epi64(sums, sums));
#else
  int64_t sum = 0;
  for (size_t i = 0; i < kBlockBytes; ++i) sum += block[i];
  return sum;
#endif
}

// True for a byte that ends the plain text of a JSON string: a quote, a backslash or a control character.
inline bool EndsJsonText(unsigned char c) { return c == '"' || c == '\\' || c < ' '; }
inline ByteBlock EndsJsonText(ByteBlock bytes) {
  return static_cast<ByteBlock>((bytes == '"') | (bytes == '\\') | (bytes < ' '));
}

}  // namespace penstock

#endif  // PENSTOCK_BASE_BYTE_BLOCK_H_
