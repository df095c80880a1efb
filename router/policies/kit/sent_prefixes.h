// What a router may believe to be in the engines' prefix caches: the prompts that it sent to each replica.
//
// Approximate, as in routers that get no cache events from the engines: blocks of kPrefixBlock tokens by their chained
// hash, least recently sent forgotten first beyond `capacity` tokens per replica, all forgotten `ttl` after they were
// last sent. What is left of a prompt after its last full block counts towards the size and never matches.
// Insert and Matched cost one lookup per block of the prompt. Not thread-safe; one owner.
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
  void Insert(ReplicaId replica, const RequestArrived& request, Instant now);
  // Tokens remembered of a replica.
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
  std::vector<Tree> trees_;  // By replica.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_POLICIES_KIT_SENT_PREFIXES_H_
