// One pass over the JSON text of a request body that can pause.
//
// The walk checks the grammar of RFC 8259 to the letter, and the depth. Each call reads a slice of some bytes, so a
// long body does not hold its loop. No document is built: a visitor hears of keys and values, and skips the other
// insides. The text is one object with only space around it. Every escaped surrogate belongs to a pair. UTF-8 is not
// checked. A pause is never inside of a character. Pure; the text outlives it. Text costs about 0.5 ns per byte,
// punctuation 5 ns.
#ifndef PENSTOCK_ROUTER_OPENAI_REQUEST_JSON_WALK_H_
#define PENSTOCK_ROUTER_OPENAI_REQUEST_JSON_WALK_H_

#include <array>
#include <bitset>
#include <cassert>
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "base/json_string.h"
#include "kvmodel/prompt/text_counts.h"

namespace penstock {

class JsonWalk {
 public:
  static constexpr int kMaxDepth = 128;
  // A visitor opens no container at a greater depth.
  static constexpr int kMaxReported = 8;
  // A longer number is refused. Few parsers would read it.
  static constexpr size_t kMaxNumber = 1024;

  enum class Progress : uint8_t { kPaused, kDone, kBad };

  explicit JsonWalk(absl::string_view text)
      : begin_(text.data()), at_(begin_), stop_(begin_), end_(begin_ + text.size()) {}

  // Walks over about `bytes` bytes. Not to be called again after kDone or kBad. The visitor has these methods:
  //   void Key(absl::string_view raw, bool escaped)  A member begins. `raw` has no quotes, but its escapes.
  //   bool Open(const char* at)                A container begins. False: nothing is reported of its inside.
  //   TextCounter* Text(const char* at)        A string begins. Its text is counted there; null: it is not.
  //   void Close()                             A container whose inside was reported ends.
  //   void End(absl::string_view raw)          Any value ends, after its Close(). `raw` are its bytes.
  template <class Visitor>
  Progress Run(Visitor& visitor, size_t bytes) {
    SetStop(bytes);
    while (Step(visitor)) continue;
    if (expected_ == Expected::kNothing && depth_ == 0 && at_ == end_) return Progress::kDone;
    return !bad_ && at_ >= stop_ && stop_ < end_ ? Progress::kPaused : Progress::kBad;
  }

  // The number of bytes before the walk. After kBad: before the character, literal or number that is wrong.
  size_t position() const { return static_cast<size_t>(at_ - begin_); }
  // True when the text is anything but an object.
  bool no_object() const { return expected_ == Expected::kBody && at_ < end_; }
  // True when values are nested deeper than kMaxDepth.
  bool too_deep() const { return depth_ > kMaxDepth; }

 private:
  enum class Expected : uint8_t {
    kBody,      // The outermost value.
    kValue,     // Any value.
    kKey,       // The quote of a key.
    kColon,     //
    kFirst,     // The first item of a container, or its end.
    kNext,      // A comma or the end of a container.
    kInString,  // More of a string, or its quote.
    kInKey,     // More of a key, or its quote.
    kNothing,   // Only space.
  };

  void SetStop(size_t bytes);
  // False: the slice or the text ends here.
  bool SkipSpace() {
    while (at_ < stop_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r')) ++at_;
    return at_ < stop_;
  }
  bool Fail() { return bad_ = true, false; }
  bool InObject() const { return objects_[static_cast<size_t>(depth_)]; }
  char Closing() const { return InObject() ? '}' : ']'; }
  bool Reports() const { return depth_ < quiet_; }
  // Reads on within a string. True: it stands at the quote that ends the string.
  bool InString(TextCounter* counter);
  // Passes over a number or a literal.
  bool TakeScalar();

  // Reads one item. The usual item follows at once: a step that finds it takes it too.
  template <class Visitor>
  bool Step(Visitor& visitor) {
    if (expected_ == Expected::kInString) return EndString(visitor);
    if (expected_ == Expected::kInKey) return EndKey(visitor);
    if (!SkipSpace()) return false;
    switch (expected_) {
      case Expected::kBody:
        return *at_ == '{' ? Open(visitor) : Fail();
      case Expected::kFirst:
        return *at_ == Closing() ? Close(visitor) : BeginItem(visitor);
      case Expected::kNext:
        return Next(visitor);
      case Expected::kKey:
        return BeginKey(visitor);
      case Expected::kColon:
        return *at_ == ':' ? PassColon(visitor) : Fail();
      case Expected::kValue:
        return BeginValue(visitor);
      default:
        return Fail();
    }
  }

  template <class Visitor>
  bool BeginItem(Visitor& visitor) {
    return InObject() ? BeginKey(visitor) : BeginValue(visitor);
  }

  template <class Visitor>
  bool Next(Visitor& visitor) {
    if (*at_ != ',') return *at_ == Closing() ? Close(visitor) : Fail();
    ++at_;
    expected_ = InObject() ? Expected::kKey : Expected::kValue;
    return SkipSpace() && BeginItem(visitor);
  }

  template <class Visitor>
  bool BeginKey(Visitor& visitor) {
    if (*at_ != '"') return Fail();
    start_ = ++at_;
    escaped_ = false;
    expected_ = Expected::kInKey;
    return EndKey(visitor);
  }

  template <class Visitor>
  bool EndKey(Visitor& visitor) {
    if (!InString(nullptr)) return false;
    if (Reports()) visitor.Key(absl::string_view(start_, static_cast<size_t>(at_ - start_)), escaped_);
    ++at_;
    expected_ = Expected::kColon;
    return at_ >= stop_ || *at_ != ':' || PassColon(visitor);
  }

  template <class Visitor>
  bool PassColon(Visitor& visitor) {
    ++at_;
    expected_ = Expected::kValue;
    return SkipSpace() && BeginValue(visitor);
  }

  template <class Visitor>
  bool BeginValue(Visitor& visitor) {
    const char* const start = at_;
    if (*at_ == '{' || *at_ == '[') return Open(visitor);
    if (*at_ == '"') {
      counter_ = Reports() ? visitor.Text(at_) : nullptr;
      start_ = ++at_;
      expected_ = Expected::kInString;
      return EndString(visitor);
    }
    if (!TakeScalar()) return Fail();
    EndValue(visitor, start);
    return true;
  }

  template <class Visitor>
  bool EndString(Visitor& visitor) {
    if (!InString(counter_)) return false;
    ++at_;
    EndValue(visitor, start_ - 1);
    return true;
  }

  template <class Visitor>
  bool Open(Visitor& visitor) {
    if (++depth_ > kMaxDepth) return Fail();
    if (Reports()) {
      assert(depth_ <= kMaxReported);
      starts_[static_cast<size_t>(depth_)] = at_;
      if (!visitor.Open(at_)) quiet_ = depth_;
    }
    objects_[static_cast<size_t>(depth_)] = *at_ == '{';
    ++at_;
    expected_ = Expected::kFirst;
    return true;
  }

  template <class Visitor>
  bool Close(Visitor& visitor) {
    ++at_;
    if (Reports()) visitor.Close();
    if (depth_ == quiet_) quiet_ = kMaxDepth + 1;
    const auto depth = static_cast<size_t>(depth_--);
    EndValue(visitor, Reports() ? starts_[depth] : nullptr);
    if (depth_ == 0) expected_ = Expected::kNothing;
    return true;
  }

  template <class Visitor>
  void EndValue(Visitor& visitor, const char* start) {
    expected_ = Expected::kNext;
    if (Reports()) visitor.End(absl::string_view(start, static_cast<size_t>(at_ - start)));
  }

  const char* const begin_;
  const char* at_;
  const char* stop_;  // The end of this slice; a character begins there.
  const char* const end_;
  const char* start_ = nullptr;                         // The inside of the string at the walk.
  TextCounter* counter_ = nullptr;                      // Counts the text of that string.
  std::array<const char*, kMaxReported + 1> starts_{};  // Of the open containers that were reported, by depth.
  std::bitset<kMaxDepth + 1> objects_;
  int depth_ = 0;
  int quiet_ = kMaxDepth + 1;  // The depth from which on the visitor hears nothing.
  Expected expected_ = Expected::kBody;
  bool escaped_ = false;  // The key at the walk has an escape.
  bool bad_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_OPENAI_REQUEST_JSON_WALK_H_
