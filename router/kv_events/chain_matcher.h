// Finds the request that made an engine store a chain of blocks.
//
// Blocks that are stored one after the other are a chain. Engines that name the session of a request in their events
// so name its owner (session_tag.h). Else time and length decide: it was stored while the request ran, and it ends
// where the request's tokens end. It then has an owner if no other request of this router fits. What could belong to
// two stays without an owner, and so does what nobody here asked for. Invariant: a chain has one owner at most. Pure.
// Bounded: kMostChains and kMostRuns. Judging a request costs O(chains + requests).
#ifndef PENSTOCK_ROUTER_KV_EVENTS_CHAIN_MATCHER_H_
#define PENSTOCK_ROUTER_KV_EVENTS_CHAIN_MATCHER_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/ids.h"
#include "base/units.h"

namespace penstock {

// A request that ran on the engine.
struct EngineRun {
  RequestId request;
  std::vector<uint64_t> prefix;  // RequestArrived::prefix.
  Bytes body{0};
  Instant dispatched;
  Instant closed = Instant::Never();  // Never: it runs.
  Tokens prompt{0};                   // From here on known once it closed.
  Tokens output{0};
  Tokens cached{-1};  // The cached part of the prompt; negative: the engine did not say.
  bool plain = true;  // One prompt and one answer, by one attempt.
};

// The end of the search for a request's chain.
enum class MatchEnd : uint8_t {
  kNamed,      // The engine named the request.
  kLength,     // Time and length leave one chain and one request.
  kAmbiguous,  // Several chains, or several requests.
  kNone,       // It stored nothing new, or nobody knows what.
};

struct Match {
  EngineRun run;
  MatchEnd end = MatchEnd::kNone;
  uint64_t last = 0;  // The last block of its chain, where there is one.
};

// Blocks that an event stored, in their order.
struct StoredRun {
  std::optional<uint64_t> parent;
  uint64_t last = 0;
  int64_t first_position = 0;
  int64_t last_position = 0;
  std::optional<RequestId> owner;  // As the engine named it.
  int64_t block_size = 0;
};

class ChainMatcher {
 public:
  static constexpr size_t kMostChains = 16'384;
  static constexpr size_t kMostRuns = 4096;
  // Events come so much later than the answer at most.
  static constexpr Duration kSettle = Duration::Milliseconds(250);
  // A request waits so long for others that could own its chain.
  static constexpr Duration kPatience = Duration::Seconds(30);

  void OnStored(const StoredRun& stored, Instant now);
  void OnDispatched(EngineRun run);
  void OnClosed(const EngineRun& run);
  // Nobody will know its tokens: it failed, or goes on elsewhere.
  void OnGone(RequestId request);
  // The requests whose search ended.
  std::vector<Match> Judge(Instant now);
  // The chains are void.
  void ForgetChains();

  int64_t chains() const { return static_cast<int64_t>(chains_.size()); }
  int64_t unowned() const { return unowned_; }  // Chains that were given up without an owner.

 private:
  struct Chain {
    std::optional<RequestId> owner;
    uint64_t last = 0;
    int64_t first_position = 0;
    int64_t blocks = 0;  // From the begin of the prompt.
    Instant first_at;
    Instant last_at;
    bool taken = false;
  };
  using Chains = std::map<uint64_t, Chain>;  // In the order of their age.

  uint64_t ChainFor(const StoredRun& stored, Instant now);
  void Drop(Chains::iterator chain);
  void ForgetOld(Instant now);
  std::optional<Match> JudgeOne(const EngineRun& run, Instant now);
  bool Fits(const Chain& chain, const EngineRun& run) const;
  // Another request that may own the chain. `open`: one of them still runs.
  bool HasRival(const Chain& chain, const EngineRun& run, bool& open) const;

  Chains chains_;
  uint64_t next_ = 1;
  absl::flat_hash_map<uint64_t, uint64_t> by_last_;  // Chain by its last block, while it may grow.
  absl::flat_hash_map<RequestId, uint64_t> by_owner_;
  std::map<RequestId, EngineRun> open_;
  std::deque<EngineRun> closed_;   // Not judged yet.
  std::deque<EngineRun> settled_;  // Judged without a chain, of late: they may own another's.
  int64_t block_size_ = 0;
  bool names_ = false;  // The engine has named a request.
  int64_t unowned_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_KV_EVENTS_CHAIN_MATCHER_H_
