// The text of an answer that its client already has, stored so that another engine can continue it.
//
// Held as the inside of a JSON string, as the engine wrote it. Bounded twice: each answer by its own limit, all answers
// of the router together by a budget. Text that does not fit is dropped for good and its answer can only be ended, not
// continued. Memory is taken from the budget when the string's capacity grows, so most appends touch nothing shared.
// Belongs to one loop.
#ifndef PENSTOCK_ROUTER_OPENAI_ANSWER_DELIVERED_TEXT_H_
#define PENSTOCK_ROUTER_OPENAI_ANSWER_DELIVERED_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "base/byte_budget.h"
#include "base/units.h"

namespace penstock {

class DeliveredText {
 public:
  struct Limits {
    Bytes each{256 << 10};
    Bytes all{256 << 20};
  };
  DeliveredText() = default;  // Keeps nothing.
  DeliveredText(ByteBudget& budget, Limits limits) : limits_(limits), share_(budget), keeps_(true) {}

  void Append(absl::string_view text);
  // Forgets the text and stores later text again.
  void Clear();
  // All that was appended is here.
  bool whole() const { return keeps_ && !dropped_; }
  absl::string_view text() const { return text_; }

 private:
  Limits limits_;
  std::string text_;
  ByteShare share_;
  bool keeps_ = false;
  bool dropped_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_OPENAI_ANSWER_DELIVERED_TEXT_H_
