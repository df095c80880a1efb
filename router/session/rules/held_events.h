// The events of a stream that wait for their time, in the order in which they came.
//
// Each has its time and its tokens; no time lies before that of an earlier event. Popped bytes stay in front of the
// others until they are half of all, so that each byte is moved once. Pure. Costs no allocation per event but growth.
#ifndef PENSTOCK_ROUTER_SESSION_RULES_HELD_EVENTS_H_
#define PENSTOCK_ROUTER_SESSION_RULES_HELD_EVENTS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

#include "absl/strings/string_view.h"
#include "base/units.h"

namespace penstock {

class HeldEvents {
 public:
  struct Due {
    absl::string_view text;  // Valid until the next Add, Pop or Clear.
    int64_t tokens = 0;
  };

  void Add(Instant release, absl::string_view event, int64_t tokens) {
    text_.append(event.data(), event.size());
    if (!events_.empty()) release = std::max(release, events_.back().release);
    events_.push_back({release, event.size(), tokens});
  }
  // The events whose time has come: at least one, then as many as fit into `limit` bytes. Empty text: none.
  Due DueAt(Instant now, size_t limit) const {
    Due due;
    size_t size = 0;
    for (const Event& event : events_) {
      if (event.release > now || (size > 0 && size + event.size > limit)) break;
      size += event.size;
      due.tokens += event.tokens;
    }
    due.text = absl::string_view(text_).substr(popped_, size);
    return due;
  }
  // Forgets the first events, which have so many bytes.
  void Pop(size_t bytes) {
    popped_ += bytes;
    for (; bytes > 0 && !events_.empty(); events_.pop_front()) bytes -= std::min(bytes, events_.front().size);
    if (popped_ < text_.size() && popped_ < std::max(kCompactAt, text_.size() / 2)) return;
    text_.erase(0, popped_);
    popped_ = 0;
  }
  void Clear() {
    events_.clear();
    std::string().swap(text_);
    popped_ = 0;
  }

  bool empty() const { return events_.empty(); }
  // The time of the first one. Some event waits.
  Instant next() const { return events_.front().release; }
  // Bytes in memory, popped ones included.
  size_t bytes() const { return text_.size(); }

 private:
  struct Event {
    Instant release;
    size_t size;
    int64_t tokens;
  };
  static constexpr size_t kCompactAt = 4 << 10;

  std::string text_;
  size_t popped_ = 0;
  std::deque<Event> events_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SESSION_RULES_HELD_EVENTS_H_
