// Several embedding requests as one, and its answer as theirs.
//
// Requests may be merged when all their fields but `input` are the same bytes. The merged request is the first one with
// all inputs in a row. Each answer has its own embeddings, byte for byte, with indices from 0, and its part of the
// usage. The parts follow the estimated tokens of the inputs and add up to what the engine counted. Pure. The texts are
// valid JSON.
#ifndef PENSTOCK_ROUTER_OPENAI_EMBEDDING_EMBEDDING_MERGE_H_
#define PENSTOCK_ROUTER_OPENAI_EMBEDDING_EMBEDDING_MERGE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace penstock {

struct EmbeddingRequest {
  std::string key;  // Requests of the same key may be merged.
  std::vector<absl::string_view>
      inputs;  // Texts or lists of token ids, as they stand in the body. None: it goes alone.
};
// A request that repeats a member has no inputs: engines differ in which one counts.
EmbeddingRequest ReadEmbeddingRequest(absl::string_view body);

// Adds a field to a key. Different lists of fields give different keys, whatever bytes names and values have.
void AddToKey(absl::string_view name, absl::string_view value, std::string* key);

// The first body with the inputs of all, in order.
std::string MergedBody(absl::string_view first, absl::Span<const std::vector<absl::string_view>> inputs);

// A request within a merged one.
struct EmbeddingPart {
  size_t inputs = 0;
  int64_t weight = 1;  // Estimated tokens of its inputs.
};
// The answers of the parts. DataLoss: the answer has no list of embeddings, or not one for each input. They also have
// to be all lists or all strings, of one length. Lists of lists may have different lengths.
absl::StatusOr<std::vector<std::string>> SplitEmbeddings(absl::string_view answer,
                                                         absl::Span<const EmbeddingPart> parts);

// `total` in parts as large as the weights say, which add up to it.
std::vector<int64_t> SharesOf(int64_t total, absl::Span<const EmbeddingPart> parts);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_OPENAI_EMBEDDING_EMBEDDING_MERGE_H_
