#include "router/policies/kit/sent_prefixes.h"

#include <algorithm>

#include "router/core/contract/vacancy.h"

namespace penstock {
namespace {

uint64_t Mixed(uint64_t a, uint64_t b) {
  uint64_t mixed = a + 0x9e3779b97f4a7c15ull * (b + 1);
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ull;
  return mixed ^ (mixed >> 27);
}

}  // namespace

Tokens SentPrefixes::Matched(ReplicaId replica, const RequestArrived& request, Instant now) const {
  if (replica.value() >= trees_.size()) return Tokens(0);
  const Tree& tree = trees_[replica.value()];
  Tokens matched{0};
  for (uint64_t hash : request.prefix) {
    const auto found = tree.by_key.find(Mixed(hash, request.model.value()));
    if (found == tree.by_key.end() || now - found->second->sent > options_.ttl) break;
    matched += kPrefixBlock;
  }
  return std::min(matched, request.prompt);
}

void SentPrefixes::Insert(ReplicaId replica, const RequestArrived& request, Instant now) {
  if (replica.value() >= trees_.size()) trees_.resize(replica.value() + 1);
  Tree& tree = trees_[replica.value()];
  const Tokens rest = request.prompt - kPrefixBlock * static_cast<int64_t>(request.prefix.size());
  // The leaves enter first, so that the index also forgets them first.
  if (rest > Tokens(0)) Touch(tree, Mixed(Mixed(request.request.value(), 1), 2), rest, now);
  for (auto hash = request.prefix.rbegin(); hash != request.prefix.rend(); ++hash) {
    Touch(tree, Mixed(*hash, request.model.value()), kPrefixBlock, now);
  }
  Evict(tree, now);
}

void SentPrefixes::FollowFleet(const Fleet& fleet) {
  for (size_t i = 0; i < std::min(trees_.size(), fleet.replicas.size()); ++i) {
    if (IsVacant(fleet.replicas[i])) trees_[i] = Tree();
  }
}

Tokens SentPrefixes::Size(ReplicaId replica) const {
  return replica.value() < trees_.size() ? trees_[replica.value()].size : Tokens(0);
}

void SentPrefixes::Touch(Tree& tree, uint64_t key, Tokens tokens, Instant now) {
  const auto [found, is_new] = tree.by_key.try_emplace(key);
  if (is_new) {
    tree.blocks.push_front({key, tokens, now});
    tree.size += tokens;
    found->second = tree.blocks.begin();
  } else {
    found->second->sent = now;
    tree.blocks.splice(tree.blocks.begin(), tree.blocks, found->second);
  }
}

void SentPrefixes::Evict(Tree& tree, Instant now) {
  while (!tree.blocks.empty() && (tree.size > options_.capacity || now - tree.blocks.back().sent > options_.ttl)) {
    tree.size -= tree.blocks.back().tokens;
    tree.by_key.erase(tree.blocks.back().key);
    tree.blocks.pop_back();
  }
}

}  // namespace penstock
