// A text that is made of views of another one and of short pieces of its own, in order. Pure.
//
// Short views are copied, so that many of them do not make many pieces. The other text outlives this.
#ifndef PENSTOCK_ROUTER_ANTHROPIC_PIECE_LIST_H_
#define PENSTOCK_ROUTER_ANTHROPIC_PIECE_LIST_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "router/openai/request/json_cursor.h"

namespace penstock::anthropic {

class PieceList {
 public:
  // A longer span of the other text stays a view of it.
  static constexpr size_t kShort = 256;

  explicit PieceList(absl::string_view other) : other_(other) {}

  void Add(absl::string_view text);
  void Add(JsonSpan span);
  // A string of the other text, without its quotes.
  void AddInside(JsonSpan literal) { Add(JsonSpan{literal.begin + 1, literal.end - 1}); }
  // The memory that this takes.
  size_t size() const { return own_.capacity() + segments_.capacity() * sizeof(Segment); }
  // Valid until the next Add().
  std::vector<absl::string_view> Pieces() const;

 private:
  // Bytes of the own text, or of the other one.
  struct Segment {
    bool own = true;
    JsonSpan span;
  };

  absl::string_view other_;
  std::string own_;
  std::vector<Segment> segments_;
};

}  // namespace penstock::anthropic

#endif  // PENSTOCK_ROUTER_ANTHROPIC_PIECE_LIST_H_
