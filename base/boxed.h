// An optional value on the heap: as std::optional, but an empty one has the size of a pointer. For large values that
// most of their owners lack. A copy copies the value.
#ifndef PENSTOCK_BASE_BOXED_H_
#define PENSTOCK_BASE_BOXED_H_

#include <memory>
#include <utility>

namespace penstock {

template <class Value>
class Boxed {
 public:
  Boxed() = default;
  Boxed(const Boxed& other) : value_(other ? std::make_unique<Value>(*other) : nullptr) {}
  Boxed(Boxed&&) noexcept = default;
  Boxed& operator=(const Boxed& other) { return *this = Boxed(other); }
  Boxed& operator=(Boxed&&) noexcept = default;
  Boxed& operator=(Value value) {
    value_ = std::make_unique<Value>(std::move(value));
    return *this;
  }
  void reset() { value_.reset(); }  // NOLINT(readability-identifier-naming): as std::optional.

  explicit operator bool() const { return value_ != nullptr; }
  Value& operator*() { return *value_; }
  const Value& operator*() const { return *value_; }
  Value* operator->() { return value_.get(); }
  const Value* operator->() const { return value_.get(); }
  bool operator==(const Boxed& other) const { return *this && other ? **this == *other : !*this && !other; }

 private:
  std::unique_ptr<Value> value_;
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_BOXED_H_
