// The header fields of one HTTP message, in order, in one block of memory.
//
// A value type. Names and values are views into it, valid until a field is added or the list is moved.
#ifndef PENSTOCK_BACKENDS_DIALECT_HEADERS_H_
#define PENSTOCK_BACKENDS_DIALECT_HEADERS_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"

namespace penstock {

class HeaderList {
 public:
  using Field = std::pair<absl::string_view, absl::string_view>;  // Name, value.

  class Iterator {
   public:
    Iterator(const HeaderList& list, size_t at) : list_(&list), at_(at) {}
    Field operator*() const { return (*list_)[at_]; }
    Iterator& operator++() { return ++at_, *this; }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    const HeaderList* list_;
    size_t at_;
  };

  HeaderList() = default;
  HeaderList(std::initializer_list<Field> fields) {
    for (const auto& [name, value] : fields) Add(name, value);
  }

  // Reserves room for `fields` fields with `bytes` bytes together.
  void Reserve(size_t fields, size_t bytes) {
    places_.reserve(fields);
    text_.reserve(bytes);
  }
  void Add(absl::string_view name, absl::string_view value) {
    places_.push_back(
        {static_cast<uint32_t>(text_.size()), static_cast<uint32_t>(name.size()), static_cast<uint32_t>(value.size())});
    text_.append(name.data(), name.size()).append(value.data(), value.size());
  }
  void Clear() {
    text_.clear();
    places_.clear();
  }

  size_t size() const { return places_.size(); }
  // Bytes of all names and values.
  size_t bytes() const { return text_.size(); }
  // Bytes of memory, room for more fields included.
  size_t held() const { return text_.capacity() + places_.capacity() * sizeof(Place); }
  Field operator[](size_t i) const {
    const Place& place = places_[i];
    const char* name = text_.data() + place.at;
    return {absl::string_view(name, place.name), absl::string_view(name + place.name, place.value)};
  }
  Iterator begin() const { return Iterator(*this, 0); }
  Iterator end() const { return Iterator(*this, places_.size()); }

  friend absl::string_view FindHeader(const HeaderList& headers, absl::string_view name);

 private:
  struct Place {
    uint32_t at;
    uint32_t name;
    uint32_t value;
  };
  std::string text_;
  std::vector<Place> places_;
};

// True: the names are equal but for the case of letters. Most names of one length differ at their end.
inline bool SameHeaderName(absl::string_view a, absl::string_view b) {
  const auto lower = [](char c) { return absl::ascii_tolower(static_cast<unsigned char>(c)); };
  if (a.size() != b.size()) return false;
  for (size_t i = a.size(); i-- > 0;) {
    if (a[i] != b[i] && lower(a[i]) != lower(b[i])) return false;
  }
  return true;
}

// The value of the first header of that name, or empty. Costs some instructions per field.
absl::string_view FindHeader(const HeaderList& headers, absl::string_view name);

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_DIALECT_HEADERS_H_
