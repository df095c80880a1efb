// The bytes of one answer that the session has not taken: copies of events, or a view of a part or a long event. Pure.
#ifndef PENSTOCK_ROUTER_HTTP_HTTP2_STREAM_OUTPUT_H_
#define PENSTOCK_ROUTER_HTTP_HTTP2_STREAM_OUTPUT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "absl/strings/string_view.h"

namespace penstock::http2 {

class StreamOutput {
 public:
  // Behind all others.
  void Append(absl::string_view copied) { held_.append(copied.data(), copied.size()); }
  // Behind all others, the only ones of their kind; they live until empty() or Clear().
  void Refer(absl::string_view bytes) { part_ = bytes; }
  // No more will come.
  void End() { ended_ = true; }
  // The answer is its head alone.
  void EndWithHead() { finished_ = true; }
  void Clear() {
    held_.clear();
    at_ = 0;
    part_ = absl::string_view();
  }

  bool empty() const { return size() == 0; }
  size_t size() const { return held_.size() - at_ + part_.size(); }
  // The end was taken: the session has the whole answer.
  bool finished() const { return finished_; }

  // Moves bytes into `into`. `ended`: they are the last.
  size_t Take(std::span<uint8_t> into, bool& ended) {
    const absl::string_view held = absl::string_view(held_).substr(at_, into.size());
    std::copy(held.begin(), held.end(), into.begin());
    at_ += held.size();
    if (at_ == held_.size()) held_.clear(), at_ = 0;
    const absl::string_view part = part_.substr(0, into.size() - held.size());
    std::copy(part.begin(), part.end(), into.begin() + static_cast<std::ptrdiff_t>(held.size()));
    part_.remove_prefix(part.size());
    ended = finished_ = ended_ && empty();
    return held.size() + part.size();
  }

 private:
  std::string held_;
  size_t at_ = 0;  // The beginning of `held_` that was taken.
  absl::string_view part_;
  bool ended_ = false;
  bool finished_ = false;
};

}  // namespace penstock::http2

#endif  // PENSTOCK_ROUTER_HTTP_HTTP2_STREAM_OUTPUT_H_
