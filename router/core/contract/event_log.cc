#include "router/core/contract/event_log.h"

#include <optional>
#include <type_traits>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "router/core/contract/event_fields.h"

namespace penstock {
namespace {

constexpr const char* kEventNames[] = {"arrived",       "first-token", "closed",        "requeued", "progress",
                                       "report",        "health",      "fleet-changed", "shutdown", "timer",
                                       "answer-fixed",  "residency",   "elastic",       "adapter",  "node",
                                       "prefill-ended", "cache"};
constexpr const char* kActionNames[] = {"forward", "park", "refuse",    "abort",
                                        "sleep",   "wake", "set-share", "load-adapter"};
static_assert(std::variant_size_v<Event> == std::size(kEventNames));
static_assert(std::variant_size_v<Action> == std::size(kActionNames));

class Writer {
 public:
  explicit Writer(std::string* out) : out_(out) {}
  template <class... Values>
  void operator()(Values&... values) {
    (Write(values), ...);
  }

 private:
  void Write(bool value) { absl::StrAppend(out_, " ", value ? 1 : 0); }
  void Write(int value) { absl::StrAppend(out_, " ", value); }
  void Write(int64_t value) { absl::StrAppend(out_, " ", value); }
  void Write(uint64_t value) { absl::StrAppend(out_, " ", value); }
  void Write(uint32_t value) { absl::StrAppend(out_, " ", value); }
  void Write(double value) { absl::StrAppendFormat(out_, " %.17g", value); }
  void Write(Duration value) { absl::StrAppend(out_, " ", value.nanoseconds()); }
  void Write(Instant value) { absl::StrAppend(out_, " ", value.nanoseconds()); }
  template <class Tag>
  void Write(Count<Tag> value) {
    absl::StrAppend(out_, " ", value.value());
  }
  template <class Tag, class Number>
  void Write(Id<Tag, Number> value) {
    absl::StrAppend(out_, " ", value.value());
  }
  void Write(std::string& text) {
    absl::StrAppend(out_, " '");
    for (const char c : text) {
      const bool plain = c > ' ' && c < 127 && c != '%';
      if (plain) {
        out_->push_back(c);
      } else {
        absl::StrAppendFormat(out_, "%%%02x", static_cast<unsigned char>(c));
      }
    }
  }
  template <class Value>
  void Write(std::vector<Value>& values) {
    absl::StrAppend(out_, " ", values.size());
    for (Value& value : values) Write(value);
  }
  // An absent value is written as its default, so a line has as many words as fields.
  template <class Value>
  void Write(std::optional<Value>& value) {
    Write(value.has_value());
    Value written = value.value_or(Value());
    Write(written);
  }
  template <class Value>
  std::enable_if_t<std::is_enum_v<Value>> Write(Value value) {
    absl::StrAppend(out_, " ", static_cast<int>(value));
  }
  template <class Value>
  std::enable_if_t<std::is_class_v<Value>> Write(Value& value) {
    Fields(*this, value);
  }

  std::string* out_;
};

// Reads fields in order; the first that does not fit makes everything after it void.
class Reader {
 public:
  explicit Reader(std::vector<absl::string_view> words) : words_(std::move(words)) {}
  template <class... Values>
  void operator()(Values&... values) {
    (Read(values), ...);
  }
  bool done() const { return good_ && next_ == words_.size(); }

  absl::string_view Word() {
    if (next_ >= words_.size()) {
      good_ = false;
      return "0";
    }
    return words_[next_++];
  }

 private:
  template <class Number>
  Number ReadNumber() {
    Number value = 0;
    good_ = absl::SimpleAtoi(Word(), &value) && good_;
    return value;
  }
  void Read(bool& value) { value = ReadNumber<int>() != 0; }
  void Read(int& value) { value = ReadNumber<int>(); }
  void Read(int64_t& value) { value = ReadNumber<int64_t>(); }
  void Read(uint64_t& value) { value = ReadNumber<uint64_t>(); }
  void Read(uint32_t& value) { value = ReadNumber<uint32_t>(); }
  void Read(double& value) { good_ = absl::SimpleAtod(Word(), &value) && good_; }
  void Read(Duration& value) { value = Duration::Nanoseconds(ReadNumber<int64_t>()); }
  void Read(Instant& value) { value = Instant::FromNanoseconds(ReadNumber<int64_t>()); }
  template <class Tag>
  void Read(Count<Tag>& value) {
    value = Count<Tag>(ReadNumber<int64_t>());
  }
  template <class Tag, class Number>
  void Read(Id<Tag, Number>& value) {
    value = Id<Tag, Number>(ReadNumber<Number>());
  }
  void Read(std::string& text) {
    const absl::string_view word = Word();
    good_ = good_ && !word.empty() && word[0] == '\'';
    text.clear();
    for (size_t i = 1; i < word.size() && good_; ++i) {
      int code = 0;
      if (word[i] != '%') {
        text.push_back(word[i]);
      } else if (i + 2 < word.size() && absl::SimpleHexAtoi(word.substr(i + 1, 2), &code)) {
        text.push_back(static_cast<char>(code));
        i += 2;
      } else {
        good_ = false;
      }
    }
  }
  template <class Value>
  void Read(std::vector<Value>& values) {
    const size_t size = ReadNumber<uint32_t>();
    // Every element takes a word or more, so a count beyond the words is wrong.
    good_ = good_ && size <= words_.size();
    values.clear();
    for (size_t i = 0; i < size && good_; ++i) Read(values.emplace_back());
  }
  template <class Value>
  void Read(std::optional<Value>& value) {
    const bool present = ReadNumber<int>() != 0;
    Value read;
    Read(read);
    value = present ? std::optional<Value>(read) : std::nullopt;
  }
  template <class Value>
  std::enable_if_t<std::is_enum_v<Value>> Read(Value& value) {
    value = static_cast<Value>(ReadNumber<int>());
  }
  template <class Value>
  std::enable_if_t<std::is_class_v<Value>> Read(Value& value) {
    Fields(*this, value);
  }

  std::vector<absl::string_view> words_;
  size_t next_ = 0;
  bool good_ = true;
};

template <class Variant>
std::string Format(Instant at, Variant variant, const char* const* names) {
  std::string line = absl::StrCat(at.nanoseconds(), " ", names[variant.index()]);
  Writer writer(&line);
  std::visit([&](auto& value) { Fields(writer, value); }, variant);
  return line;
}

template <size_t... Indices>
bool ReadKind(absl::string_view kind, Reader& reader, Event& event, std::index_sequence<Indices...>) {
  const auto read_if = [&](auto index) {
    if (kind != kEventNames[index]) return false;
    auto& value = event.emplace<index>();
    Fields(reader, value);
    return true;
  };
  return (read_if(std::integral_constant<size_t, Indices>()) || ...);
}

}  // namespace

std::string FormatEvent(Instant at, const Event& event) { return Format(at, event, kEventNames); }

std::string FormatAction(Instant at, const Action& action) { return Format(at, action, kActionNames); }

absl::StatusOr<std::pair<Instant, Event>> ParseEvent(absl::string_view line) {
  Reader reader(absl::StrSplit(line, ' '));
  int64_t at = 0;
  const bool timed = absl::SimpleAtoi(reader.Word(), &at);
  const absl::string_view kind = reader.Word();
  Event event;
  const bool known = ReadKind(kind, reader, event, std::make_index_sequence<std::variant_size_v<Event>>());
  if (!timed || !known || !reader.done()) {
    return absl::InvalidArgumentError(absl::StrCat("not an event: ", line.substr(0, 80)));
  }
  return std::pair(Instant::FromNanoseconds(at), std::move(event));
}

}  // namespace penstock
