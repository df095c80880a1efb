// A scanner over one JSON text. The caller takes some members and skips the rest. The scanner builds no document.
//
// The answers of engines are read by it, as a general parser costs several times the work. One pass goes over the
// bytes, sixteen at a time within strings. The scanner checks the grammar and the depth. A number is any run of number
// characters, and escapes are not checked. Keys keep their escapes. The input needs no padding and is never read beyond
// its end. UTF-8 is not checked. One owner, not thread-safe.
//
// Every method consumes exactly one value. It returns false when the text is not JSON; the scanner is then unusable. A
// visitor runs at the value of a member or element and must consume it, with Skip() at least.
#ifndef PENSTOCK_BACKENDS_DIALECT_JSON_SCANNER_H_
#define PENSTOCK_BACKENDS_DIALECT_JSON_SCANNER_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/strings/string_view.h"

namespace penstock {

class JsonScanner {
 public:
  // Requests may have half of it, and engines repeat parts of them in their answers.
  static constexpr int kMaxDepth = 256;
  explicit JsonScanner(absl::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  // Visits the whole text, which must be one object with only space around it.
  template <class Visit>
  bool WholeObject(Visit&& visit) {
    SkipSpace();
    if (Peek() != '{' || !ForEachMember(visit)) return false;
    SkipSpace();
    return at_ == end_;
  }

  // The whole text is one value that begins with one of these characters, with only space around it.
  bool SkipWhole(absl::string_view firsts);

  // The first character of the next value: { [ " or a character of a number or literal. 0 at the end of the text.
  char Peek() const { return at_ < end_ ? *at_ : '\0'; }

  // Calls visit(key) for each member. Skips a value that is not an object.
  template <class Visit>
  bool ForEachMember(Visit&& visit) {
    if (Peek() != '{') return Skip();
    return Sequence('}', [&] {
      absl::string_view key;
      if (!TakeString(&key)) return false;
      SkipSpace();
      if (Peek() != ':') return false;
      ++at_;
      SkipSpace();
      return visit(key);
    });
  }

  // Calls visit() for each element. Skips a value that is not an array.
  template <class Visit>
  bool ForEachElement(Visit&& visit) {
    if (Peek() != '[') return Skip();
    return Sequence(']', visit);
  }

  // Gives the bytes of an object, and calls visit(key) for each member.
  template <class Visit>
  bool TakeRawObject(absl::string_view* raw, Visit&& visit) {
    const char* const start = at_;
    if (Peek() != '{' || !ForEachMember(visit)) return false;
    *raw = absl::string_view(start, static_cast<size_t>(at_ - start));
    return true;
  }

  bool Skip();
  // Gives a string without its quotes. Escapes stay as they are.
  bool TakeString(absl::string_view* raw);
  // Gives the bytes of any value.
  bool TakeRaw(absl::string_view* raw);
  // Copies a string with its escapes resolved. Leaves `out` alone for other values.
  bool CopyString(std::string* out);
  // Reads an integer. Leaves `out` alone for other values.
  bool CopyInt(int64_t* out);

 private:
  void SkipSpace() {
    while (at_ < end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r')) ++at_;
  }

  // Reads comma-separated items from the bracket at the scanner to `close`.
  template <class Item>
  bool Sequence(char close, Item&& item) {
    if (++depth_ > kMaxDepth) return false;
    ++at_;
    SkipSpace();
    if (Peek() == close) return ++at_, --depth_, true;
    while (true) {
      if (!item()) return false;
      SkipSpace();
      const char next = Peek();
      if (next != ',' && next != close) return false;
      ++at_;
      if (next == close) return --depth_, true;
      SkipSpace();
    }
  }

  bool SkipScalar();

  const char* at_;
  const char* end_;
  int depth_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_DIALECT_JSON_SCANNER_H_
