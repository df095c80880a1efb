// Addresses of the events of engines' caches: tcp://HOST:PORT.
#ifndef PENSTOCK_CONFIG_VALUES_KV_EVENT_ADDRESS_H_
#define PENSTOCK_CONFIG_VALUES_KV_EVENT_ADDRESS_H_

#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace penstock {

inline constexpr absl::string_view kKvEventScheme = "tcp://";

// Each data-parallel rank has the port of the engine plus its number. An empty address stays empty.
inline std::string KvEventAddressOfRank(absl::string_view address, int rank) {
  const size_t colon = address.rfind(':');
  int port = 0;
  if (rank == 0 || colon == absl::string_view::npos || !absl::SimpleAtoi(address.substr(colon + 1), &port)) {
    return std::string(address);
  }
  return absl::StrCat(address.substr(0, colon + 1), port + rank);
}

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_VALUES_KV_EVENT_ADDRESS_H_
