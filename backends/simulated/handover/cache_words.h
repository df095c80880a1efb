// kv_transfer_params of vLLM's connectors, as a simulated engine reads and writes them. Pure.
//
// The word do_remote_decode asks the engine to hold the cache of the prompt and to say where it is. The word
// do_remote_prefill asks it to fetch the cache from there. Without the place it computes the prompt, as vLLM does.
#ifndef PENSTOCK_BACKENDS_SIMULATED_HANDOVER_CACHE_WORDS_H_
#define PENSTOCK_BACKENDS_SIMULATED_HANDOVER_CACHE_WORDS_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/units.h"

namespace penstock::simulated {

// The place of a cache. The side channel of a simulated engine is its HTTP port.
struct CachePlace {
  std::string host;  // A literal address.
  uint16_t port = 0;
  std::string engine;
  std::string request;
  bool operator==(const CachePlace&) const = default;
};

struct CacheOrder {
  bool keeps = false;
  std::optional<CachePlace> fetches;
};

// `params`: an object.
CacheOrder ReadCacheOrder(const nlohmann::json& params);
// The words for the engine that fetches `tokens` in blocks of `block`; `cached` of them were in the prefix cache.
nlohmann::json CacheOffer(const CachePlace& place, Tokens tokens, Tokens block, Tokens cached);

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_HANDOVER_CACHE_WORDS_H_
