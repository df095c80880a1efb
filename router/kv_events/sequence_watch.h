// The numbers of one publisher's batches: which batch is next, which are missing, and when the publisher is another
// one.
//
// Numbers rise by one from 0. A missing batch is asked for once, where the publisher serves replays; what it no longer
// has is lost. A number that falls belongs to a new publisher. After a connection was lost, only the batch that was
// seen last, or the next one, proves that the publisher is the same. Pure; no memory but a few numbers. O(1).
#ifndef PENSTOCK_ROUTER_KV_EVENTS_SEQUENCE_WATCH_H_
#define PENSTOCK_ROUTER_KV_EVENTS_SEQUENCE_WATCH_H_

#include <cstdint>
#include <optional>

namespace penstock {

class SequenceWatch {
 public:
  enum class Step : uint8_t {
    kTake,       // It is the next one.
    kSkip,       // It is known.
    kHold,       // A replay is under way: the batch comes again by Held() when it has ended.
    kLost,       // Batches before it are missing for good; it is the next one.
    kRestarted,  // The publisher began anew: all before is void. The batch is to be given again.
  };

  explicit SequenceWatch(bool can_replay) : can_replay_(can_replay) {}

  void Connected();
  void Disconnected();
  // A batch of the stream.
  Step Live(uint64_t number);
  // A batch of the stream that waited for a replay, which may have had it too.
  Step Held(uint64_t number) { return next_ && number < *next_ ? Step::kSkip : Live(number); }
  // A batch of the replay under way.
  Step Replayed(uint64_t number);
  // The replay ended, or failed. kTake: go on. kRestarted: as above, without a batch.
  Step EndReplay(bool failed);

  // The number from which a replay is to be asked for, once.
  std::optional<uint64_t> TakeRequest();
  bool replaying() const { return replaying_; }
  // The batches so far are all that the publisher sent since it began, or since the last loss.
  bool proven() const { return proven_; }
  int64_t missed() const { return missed_; }  // Batches that were missing when a later one came.

 private:
  Step Follow(uint64_t number);
  void StartReplay(uint64_t from);

  const bool can_replay_;
  std::optional<uint64_t> next_;
  std::optional<uint64_t> request_;
  bool replaying_ = false;
  bool probing_ = false;  // The replay is to show that the publisher is the same.
  bool tried_ = false;    // The router asked for the missing batches.
  bool proven_ = false;
  int64_t missed_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_KV_EVENTS_SEQUENCE_WATCH_H_
