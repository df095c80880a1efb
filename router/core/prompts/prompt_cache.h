// The prompts that one replica's engine has cached: blocks that requests hold or left on the GPU, and copies in the
// memory of the host.
//
// A block that a running request holds is cached for certain, and so is one that the engine itself reported. Any other
// block that was left is cached with the learned reliability. Invariant: a block of the expected index is neither live
// nor reported. A reported block may be live too. The host has copies of all that was computed of late, whatever the
// GPU still has, within a bound of its own. Owned by ReplicaState. Join and Leave are O(blocks of the prompt), the
// questions O(log blocks). They are O(blocks) where the host has copies, and where the engine reports: blocks may be
// missing in between. The last question costs nothing again: a search asks the same of a replica several times.
#ifndef PENSTOCK_ROUTER_CORE_PROMPTS_PROMPT_CACHE_H_
#define PENSTOCK_ROUTER_CORE_PROMPTS_PROMPT_CACHE_H_

#include <cstdint>
#include <vector>

#include "router/core/contract/event.h"
#include "router/core/learning/cache_counters.h"
#include "router/core/learning/hit_reliability.h"
#include "router/core/prompts/live_blocks.h"
#include "router/core/prompts/prefix_holders.h"
#include "router/core/prompts/prefix_index.h"

namespace penstock {

class PromptCache {
 public:
  using Prefix = std::vector<uint64_t>;

  // Leading blocks of a prompt that the engine is expected to have.
  struct Match {
    int64_t live = 0;  // Held by running requests, or reported by the engine.
    int64_t left = 0;  // After those: some are only expected.
    int64_t host = 0;  // After those: to be loaded from the host.
    int64_t held = 0;  // Those that running requests hold.
  };
  Match Find(const Prefix& prefix) const;

  // The landmarks of its prompts are listed there from now on; it holds none yet.
  void ListIn(PrefixHolders* holders, uint32_t replica) {
    holders_ = holders;
    replica_ = replica;
  }

  // A request with this prompt runs from now on. Appends the other requests that had some of its blocks alone so far.
  void Join(RequestId request, const Prefix& prefix, std::vector<RequestId>& others);
  // The request runs no more. Its first `kept` blocks stay cached. Appends the other requests that have some of them
  // alone now.
  void Leave(RequestId request, const Prefix& prefix, int64_t kept, std::vector<RequestId>& others);
  // Running requests leave room for so many other blocks.
  void SetRoom(int64_t blocks) {
    answer_ = {};
    left_.SetCapacity(blocks);
    UnlistLost(left_);
  }
  // The host has room for so many blocks; 0: the engine keeps none there.
  void SetHostRoom(int64_t blocks) {
    answer_ = {};
    host_.SetCapacity(blocks);
    UnlistLost(host_);
  }
  // The engine lost what ended requests left.
  void Forget() {
    answer_ = {};
    ForgetLeft();
    counters_ = CacheCounters();
  }
  // The engine's own word about its blocks.
  void Take(const CacheReport& report);
  // Blocks that the engine reported.
  int64_t told() const { return told_.size(); }

  const LiveBlocks& live() const { return live_; }
  HitReliability& reliability() { return reliability_; }
  const HitReliability& reliability() const { return reliability_; }
  HitReliability& host_reliability() { return host_reliability_; }
  const HitReliability& host_reliability() const { return host_reliability_; }
  CacheCounters& counters() { return counters_; }

 private:
  bool IsSure(uint64_t block) const { return live_.Contains(block) || told_.Contains(block); }
  bool OnGpu(uint64_t block) const { return IsSure(block) || left_.Contains(block); }
  bool Holds(uint64_t block) const { return OnGpu(block) || host_.Contains(block); }
  Match LookOnGpu(const Prefix& prefix) const;
  void ForgetLeft() {
    left_.Clear();
    told_.Clear();
    host_.Clear();
    UnlistLost(left_);
    UnlistLost(told_);
    UnlistLost(host_);
  }
  void Doubt();
  void TakeStored(const PromptBlock& stored);
  void TakeRemoved(const PromptBlock& removed);
  void TakeHost(const CacheReport& report);
  // Takes landmarks that the index forgot off the list.
  void UnlistLost(PrefixIndex& index);

  LiveBlocks live_;
  PrefixIndex left_;                           // Expected.
  PrefixIndex told_{PrefixIndex::kUnbounded};  // Reported by the engine.
  PrefixIndex host_;                           // Expected, in the memory of the host.
  HitReliability reliability_;
  HitReliability host_reliability_;
  CacheCounters counters_;
  PrefixHolders* holders_ = nullptr;  // Null: nobody asks for the holders of a block.
  uint32_t replica_ = 0;
  // To the last question, since the last change. The hash of its last block names a whole prompt.
  struct Answer {
    size_t blocks = 0;
    uint64_t last = 0;
    Match match;
  };
  mutable Answer answer_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_PROMPTS_PROMPT_CACHE_H_
