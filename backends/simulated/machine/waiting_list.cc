#include "backends/simulated/machine/waiting_list.h"

#include <cstddef>

namespace penstock::simulated {

void WaitingList::Insert(Slot slot, Slot previous, Slot next) {
  if (static_cast<size_t>(slot) >= links_.size()) links_.resize(static_cast<size_t>(slot) + 1);
  links_[slot] = {previous, next};
  (previous == kNone ? head_ : links_[previous].next) = slot;
  (next == kNone ? tail_ : links_[next].previous) = slot;
  ++size_;
}

void WaitingList::Remove(Slot slot) {
  const Links links = links_[slot];
  (links.previous == kNone ? head_ : links_[links.previous].next) = links.next;
  (links.next == kNone ? tail_ : links_[links.next].previous) = links.previous;
  --size_;
}

}  // namespace penstock::simulated
