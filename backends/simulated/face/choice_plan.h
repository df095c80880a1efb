// The plan of one choice of an answer: its text, its length and its end. Pure.
#ifndef PENSTOCK_BACKENDS_SIMULATED_FACE_CHOICE_PLAN_H_
#define PENSTOCK_BACKENDS_SIMULATED_FACE_CHOICE_PLAN_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/simulated/engine/engine.h"
#include "backends/simulated/machine/text.h"
#include "base/units.h"

namespace penstock::simulated {

// The text of a document, one piece per token.
using DocumentPieces = std::shared_ptr<const std::vector<std::string>>;

// The plan of one choice.
struct ChoicePlan {
  // The text of the token at `position` of this answer, below `output`.
  std::string_view PieceOf(uint64_t seed, int64_t position) const;
  // Ends the choice at the first of `stops` in its text.
  void ApplyStops(uint64_t seed, const std::vector<std::string>& stops);

  int prompt = 0;  // Index of the prompt.
  Conversation conversation = 0;
  Given given;
  Tokens output{0};         // One token or more.
  DocumentPieces document;  // A JSON document as its text; null: words.
  bool silent = false;      // The prompt contains the whole answer: one end token without text.
  FinishReason reason = FinishReason::kStop;
  std::optional<size_t> text_bytes;  // The text ends here, before a stop string.
  std::string stop;                  // The stop string that ends the text.
};

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_FACE_CHOICE_PLAN_H_
