// A scanner over one JSON text: the caller takes the members it wants and skips the rest, nothing is built or copied.
//
// Written for stream events and request bodies, where a document or a general parser costs several times the work: one
// pass over the bytes, sixteen at a time within strings. Checks the whole grammar of what it passes and its depth; for
// engines, numbers may be any run of number characters and escapes are not looked into. Keys are given as they stand.
// Input needs no padding and is never read beyond its end. UTF-8 is not checked here.
//
// Every method consumes exactly one value and returns false when the text is not JSON; after that the scanner is of no
// use. A visitor gets the scanner at the value of a member or element and must consume it: with Skip() if with nothing
// else.
#ifndef PENSTOCK_BACKENDS_DIALECT_JSON_SCANNER_H_
#define PENSTOCK_BACKENDS_DIALECT_JSON_SCANNER_H_

#include <cstdint>
#include <cstring>
#include <string>

#include "absl/strings/string_view.h"
#include "kvmodel/text_counts.h"

namespace penstock {

class JsonScanner {
 public:
  static constexpr int kMaxDepth = 128;
  enum class Rules : uint8_t {
    kEngine,
    kStrict,  // RFC 8259 to the letter, and every escaped surrogate has its other half.
  };
  explicit JsonScanner(absl::string_view text, Rules rules = Rules::kEngine)
      : begin_(text.data()), at_(text.data()), end_(text.data() + text.size()), rules_(rules) {}

  // The whole text: one object and nothing but space around it.
  template <class Visit>
  bool WholeObject(Visit&& visit) {
    SkipSpace();
    if (Peek() != '{' || !ForEachMember(visit)) return false;
    SkipSpace();
    return at_ == end_;
  }

  // The first character of the next value, 0 at the end of the text: { [ " or that of a number or literal.
  char Peek() const { return at_ < end_ ? *at_ : '\0'; }

  // Bytes before the scanner.
  size_t position() const { return static_cast<size_t>(at_ - begin_); }
  // Why it failed: values are nested deeper than kMaxDepth.
  bool too_deep() const { return depth_ > kMaxDepth; }

  // visit(key) for each member; a value that is no object is skipped.
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

  // visit() for each element; a value that is no array is skipped.
  template <class Visit>
  bool ForEachElement(Visit&& visit) {
    if (Peek() != '[') return Skip();
    return Sequence(']', visit);
  }

  bool Skip();
  // A string without its quotes, escapes as they stand.
  bool TakeString(absl::string_view* raw);
  // Counts a string's text on the way.
  bool CountString(TextCounts* counts);
  // Any value, as it stands.
  bool TakeRaw(absl::string_view* raw);
  // Copies a string with its escapes undone; leaves `out` alone for other values.
  bool CopyString(std::string* out);
  // An integer; leaves `out` alone for other values.
  bool CopyInt(int64_t* out);

 private:
  void SkipSpace() {
    while (at_ < end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r')) ++at_;
  }

  // What stands between the bracket at the scanner and `close`, separated by commas.
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
  // Of a string, from its backslash.
  bool SkipEscape();

  const char* begin_;
  const char* at_;
  const char* end_;
  int depth_ = 0;
  Rules rules_;
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_DIALECT_JSON_SCANNER_H_
