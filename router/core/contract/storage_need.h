// The need of a request for the storage of its engine's node, before its first token: KV cache or adapters on disk.
#ifndef PENSTOCK_ROUTER_CORE_CONTRACT_STORAGE_NEED_H_
#define PENSTOCK_ROUTER_CORE_CONTRACT_STORAGE_NEED_H_

#include <cstdint>

namespace penstock {

enum class StorageNeed : uint8_t {
  kUnsaid,  // The client declared nothing: the model decides (router/core/storage).
  kNone,
  kSome,
  kHeavy,
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_CONTRACT_STORAGE_NEED_H_
