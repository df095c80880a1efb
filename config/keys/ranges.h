// Ranges that several keys share.
#ifndef PENSTOCK_CONFIG_KEYS_RANGES_H_
#define PENSTOCK_CONFIG_KEYS_RANGES_H_

#include "config/keys/key.h"

namespace penstock {

inline constexpr CountForm kTokenCount{1, 1'000'000'000'000};
inline constexpr CountForm kContextTokens{1, 1'000'000'000};
inline constexpr CountForm kSequenceCount{1, 65'536};
inline constexpr CountForm kBatchTokens{1, 16'777'216};
inline constexpr SizeForm kDeviceMemory{Bytes(1'000'000), Bytes(100'000'000'000'000)};
inline constexpr TimeForm kSleepTime{Duration::Milliseconds(100), Duration::Seconds(86'400)};
inline constexpr TimeForm kAnyTime{Duration(), Duration::Seconds(365 * 86'400.0)};

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_KEYS_RANGES_H_
