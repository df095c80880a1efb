#include "router/jobs/batch/prefix_order.h"

#include <xxhash.h>

#include <array>
#include <string>

namespace penstock::jobs {

uint64_t PrefixOrder(absl::string_view body, const RequestFacts& facts) {
  constexpr std::array<size_t, 4> kLevels = {256, 1 << 10, 4 << 10, 16 << 10};
  constexpr int kBits = 16;
  if (!facts.prompt_at) return 0;
  std::string prefix = facts.model + '\n';
  const size_t most = prefix.size() + kLevels.back();
  const size_t head = prefix.size();
  const auto add = [&](const JsonSpan& span) {
    const absl::string_view part = body.substr(span.begin, span.size()).substr(0, most - prefix.size());
    prefix.append(part.data(), part.size());
  };
  for (const JsonSpan& span : facts.before_prompt) add(span);
  add(*facts.prompt_at);
  uint64_t order = 0;
  for (const size_t level : kLevels) {
    const uint64_t hash = XXH3_64bits(prefix.data(), std::min(prefix.size(), head + level));
    order = (order << kBits) | (hash >> (64 - kBits));
  }
  // A database stores signed numbers, and compares them so.
  return order >> 1;
}

}  // namespace penstock::jobs
