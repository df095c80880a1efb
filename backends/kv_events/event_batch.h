// The events of an engine about the blocks of its KV cache, as vLLM and SGLang publish them: one batch per step, in
// msgpack.
//
// A batch is an array of its time, its events and the data-parallel rank. An event is a map whose `type` names it, or,
// by older engines, an array that begins with the name. Fields that nobody here needs are passed over: token ids are
// not stored. Hashes that are byte strings become 64-bit digests of them. Reading is strict where it matters:
// what is no batch is an error, an event of an unknown type is counted. A batch takes up to eight times the memory of
// its bytes. Pure.
#ifndef PENSTOCK_BACKENDS_KV_EVENTS_EVENT_BATCH_H_
#define PENSTOCK_BACKENDS_KV_EVENTS_EVENT_BATCH_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock {

// Bytes of a batch at most.
inline constexpr size_t kMostBatchBytes = size_t{2} << 20;

enum class KvEventKind : uint8_t { kStored, kRemoved, kCleared };

// One event. Fields that its kind lacks are empty.
struct KvEvent {
  KvEventKind kind = KvEventKind::kStored;
  std::vector<uint64_t> blocks;    // In the order of the prompt where they are stored.
  std::optional<uint64_t> parent;  // The block before the first one; none: they begin a prompt.
  int64_t block_size = 0;          // Tokens. 0: not known, which only media beside the GPU may say.
  std::string medium;              // "GPU", "CPU" and others; empty: the engine has one.
  std::string session;             // The name that the request gave its session.
  std::optional<int64_t> group;    // The group of layers, where the cache has several.
  bool operator==(const KvEvent&) const = default;
};

struct KvBatch {
  double time = 0;  // The clock of the engine gives it.
  std::vector<KvEvent> events;
  std::optional<int64_t> rank;
  int64_t unknown = 0;  // Events of other types.
  bool operator==(const KvBatch&) const = default;
};

absl::StatusOr<KvBatch> DecodeKvBatch(absl::string_view bytes);
// The form of vLLM's newer versions. `rank` is left out where it is none.
std::string EncodeKvBatch(const KvBatch& batch);

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_KV_EVENTS_EVENT_BATCH_H_
