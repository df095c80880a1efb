// Bounds of the lists and counts in an engine's answer, where Penstock writes it anew in another dialect. Pure.
#ifndef PENSTOCK_BACKENDS_DIALECT_ASSEMBLY_ANSWER_BOUNDS_H_
#define PENSTOCK_BACKENDS_DIALECT_ASSEMBLY_ANSWER_BOUNDS_H_

#include <cstddef>
#include <cstdint>

namespace penstock {

// The most calls of tools of an answer, and the most parts of a content. An engine with a fault may list any number,
// and an item costs many times the memory of its bytes.
inline constexpr size_t kMostListed = 1024;
// The most tokens that an engine can report; no answer and no prompt has more.
inline constexpr int64_t kMostReported = 1'000'000'000;

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_DIALECT_ASSEMBLY_ANSWER_BOUNDS_H_
