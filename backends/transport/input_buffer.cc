#include "backends/transport/input_buffer.h"

namespace penstock {
namespace {

// A larger carry is freed when it is empty: most connections never need one.
constexpr size_t kKeptCarry = 1 << 10;

}  // namespace

void InputBuffer::Append(absl::string_view read) {
  if (input_.empty()) {
    if (carry_.capacity() > kKeptCarry) std::string().swap(carry_);
    input_ = read;
    in_carry_ = false;
    return;
  }
  carry_.erase(0, static_cast<size_t>(input_.data() - carry_.data()));
  carry_.append(read.data(), read.size());
  input_ = carry_;
}

void InputBuffer::Consume(size_t count) {
  input_.remove_prefix(count);
  if (in_carry_ || input_.empty()) return;
  carry_.assign(input_.data(), input_.size());
  input_ = carry_;
  in_carry_ = true;
}

}  // namespace penstock
