// The bytes of one request body, in one block that grows without a copy where the system can move its pages.
//
// A move-only value. Reserve costs a copy of small blocks only: large blocks are mappings, which realloc moves.
#ifndef PENSTOCK_ROUTER_HTTP_REQUEST_BODY_BUFFER_H_
#define PENSTOCK_ROUTER_HTTP_REQUEST_BODY_BUFFER_H_

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "absl/strings/string_view.h"

namespace penstock {

class BodyBuffer {
 public:
  BodyBuffer() = default;
  BodyBuffer(BodyBuffer&& other) noexcept
      : bytes_(std::move(other.bytes_)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  BodyBuffer& operator=(BodyBuffer&& other) noexcept {
    bytes_ = std::move(other.bytes_);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, 0);
    return *this;
  }

  absl::string_view view() const { return absl::string_view(bytes_.get(), size_); }
  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }

  void Reserve(size_t capacity) {
    if (capacity <= capacity_) return;
    char* const old = bytes_.release();
    char* const moved = static_cast<char*>(std::realloc(old, capacity));
    bytes_.reset(moved == nullptr ? old : moved);
    if (moved == nullptr) throw std::bad_alloc();
    capacity_ = capacity;
  }
  // Needs room.
  void Append(absl::string_view piece) {
    std::memcpy(bytes_.get() + size_, piece.data(), piece.size());
    size_ += piece.size();
  }
  void Clear() { size_ = 0; }

 private:
  struct Free {
    void operator()(char* bytes) const { std::free(bytes); }
  };
  std::unique_ptr<char, Free> bytes_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_REQUEST_BODY_BUFFER_H_
