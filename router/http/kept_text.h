// The text of an answer that its client already has, kept so that another engine can go on from it.
//
// Held as the inside of a JSON string, as the engine wrote it. Bounded twice: each answer by its own limit, all answers
// of the router together by a budget. Text that does not fit is dropped for good and its answer can only be ended, not
// continued. Memory is taken from the budget when the string's capacity grows, so most appends touch nothing shared.
// A KeptText belongs to one loop; a TextBudget is thread-safe.
#ifndef PENSTOCK_ROUTER_HTTP_KEPT_TEXT_H_
#define PENSTOCK_ROUTER_HTTP_KEPT_TEXT_H_

#include <atomic>
#include <string>

#include "absl/strings/string_view.h"
#include "kvmodel/units.h"

namespace penstock {

class TextBudget {
 public:
  // False, and nothing taken, when more than `limit` would be in use.
  bool Take(Bytes amount, Bytes limit);
  void Give(Bytes amount) { used_.fetch_sub(amount.value(), std::memory_order_relaxed); }
  Bytes used() const { return Bytes(used_.load(std::memory_order_relaxed)); }

 private:
  std::atomic<int64_t> used_{0};
};

class KeptText {
 public:
  struct Limits {
    Bytes each{256 << 10};
    Bytes all{256 << 20};
  };
  KeptText() = default;  // Keeps nothing.
  KeptText(TextBudget& budget, Limits limits) : budget_(&budget), limits_(limits) {}
  ~KeptText() { Free(); }
  KeptText(KeptText&& other) noexcept;
  KeptText& operator=(KeptText&& other) noexcept;

  void Append(absl::string_view text);
  // Forgets the text; from now on it is kept again.
  void Clear();
  // All that was appended is here.
  bool whole() const { return budget_ != nullptr && !dropped_; }
  absl::string_view text() const { return text_; }

 private:
  void Free();

  TextBudget* budget_ = nullptr;
  Limits limits_;
  std::string text_;
  Bytes taken_{0};
  bool dropped_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_KEPT_TEXT_H_
