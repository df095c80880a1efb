// The prompts that a router sent to each replica: an approximation of the engines' prefix caches.
//
// Routers without cache events from the engines use such an index. It holds blocks of kPrefixBlock tokens by their
// chained hash. Beyond `capacity` tokens per replica it forgets the least recently sent blocks first. It forgets each
// block `ttl` after the block was last sent. The tokens after a prompt's last full block count towards the size and
// never match. Insert and Matched cost one lookup per block of the prompt. Owner: one rule; one caller at a time.
#ifndef PENSTOCK_ROUTER_POLICIES_KIT_SENT_PREFIXES_H_
#define PENSTOCK_ROUTER_POLICIES_KIT_SENT_PREFIXES_H_

#include <cstdint>
#include <list>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "router/core/contract/event.h"

namespace penstock {

class SentPrefixes {
 public:
  struct Options {
    Tokens capacity{int64_t{1} << 24};
    Duration ttl = Duration::Infinite();
  };
  explicit SentPrefixes(const Options& options) : options_(options) {}

  // Leading tokens of the prompt that the replica was sent; at most the prompt.
  Tokens Matched(ReplicaId replica, const RequestArrived& request, Instant now) const;
  // The prompt was sent to the replica at `now`.
  void Insert(ReplicaId replica, const RequestArrived& request, Instant now);
  // Forgets the prompts of the places that nobody has.
  void FollowFleet(const Fleet& fleet);
  // The tokens remembered of a replica.
  Tokens Size(ReplicaId replica) const;

 private:
  struct Block {
    uint64_t key = 0;
    Tokens tokens{0};
    Instant sent;
  };
  using Blocks = std::list<Block>;  // Most recently sent first.
  struct Tree {
    Blocks blocks;
    absl::flat_hash_map<uint64_t, Blocks::iterator> by_key;
    Tokens size{0};
  };
  void Touch(Tree& tree, uint64_t key, Tokens tokens, Instant now);
  void Evict(Tree& tree, Instant now);

  Options options_;
  std::vector<Tree> trees_;  // One per replica.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_POLICIES_KIT_SENT_PREFIXES_H_
