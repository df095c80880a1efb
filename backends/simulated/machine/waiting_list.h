// The waiting sequences of a step machine, in order.
//
// A doubly linked list over slot numbers. A slot is in the list at most once. Owned by StepMachine. Every operation is
// O(1); memory grows only with the largest slot number.
#ifndef PENSTOCK_BACKENDS_SIMULATED_MACHINE_WAITING_LIST_H_
#define PENSTOCK_BACKENDS_SIMULATED_MACHINE_WAITING_LIST_H_

#include <cstdint>
#include <vector>

namespace penstock::simulated {

class WaitingList {
 public:
  using Slot = int32_t;
  static constexpr Slot kNone = -1;

  int size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // kNone when the list is empty.
  Slot front() const { return head_; }

  // Precondition of both: `slot` is not in the list.
  void PushFront(Slot slot) { Insert(slot, kNone, head_); }
  void PushBack(Slot slot) { Insert(slot, tail_, kNone); }
  // Precondition: `slot` is in the list.
  void Remove(Slot slot);

 private:
  struct Links {
    Slot previous = kNone;
    Slot next = kNone;
  };

  void Insert(Slot slot, Slot previous, Slot next);

  std::vector<Links> links_;  // Indexed by slot.
  Slot head_ = kNone;
  Slot tail_ = kNone;
  int size_ = 0;
};

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_MACHINE_WAITING_LIST_H_
