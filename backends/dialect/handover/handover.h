// The words by which one engine hands the cache of a prompt to another: kv_transfer_params of vLLM's connectors.
//
// A prefill engine gets kPrefillOrder with the request. Its answer has an offer: one JSON object that names the engine
// and the blocks. The decode engine gets that object, unchanged, in the same field. Pure.
#ifndef PENSTOCK_BACKENDS_DIALECT_HANDOVER_HANDOVER_H_
#define PENSTOCK_BACKENDS_DIALECT_HANDOVER_HANDOVER_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace penstock {

inline constexpr absl::string_view kHandoverField = "kv_transfer_params";
// The engine computes the prompt, keeps its cache, and says where it is.
inline constexpr absl::string_view kPrefillOrder =
    "{\"do_remote_decode\":true,\"do_remote_prefill\":false,\"remote_engine_id\":null,\"remote_block_ids\":null,"
    "\"remote_host\":null,\"remote_port\":null}";

// The longest answer of a prefill engine. A prompt of a million tokens in blocks of 16 makes half of it.
inline constexpr size_t kMostHandover = 1 << 20;

struct HandoverOffer {
  enum class Kind : uint8_t {
    kNone,   // The answer has no such field, or null.
    kFalse,  // The field has a wrong type, or asks the decode engine for something else than to take a cache over.
    kGood,
  };
  Kind kind = Kind::kNone;
  std::string params;  // kGood: the object, as it stands in the answer.
};

// `answer`: a JSON object. O(bytes).
HandoverOffer ReadHandover(absl::string_view answer);

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_DIALECT_HANDOVER_HANDOVER_H_
