// The settings of what clients may ask beside the built-in paths, and of the form of answers. Plain values.
#ifndef PENSTOCK_CONFIG_VALUES_CLIENT_CONFIG_H_
#define PENSTOCK_CONFIG_VALUES_CLIENT_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"

namespace penstock {

enum class RouteCost : uint8_t { kFree, kPrompt, kTokens };

// A path of engines that the router passes without knowing its meaning.
struct RouteConfig {
  std::string path;  // With the end "/*": every path below.
  std::vector<std::string> methods = {"POST"};
  std::string model = "body:model";  // body:FIELD, query:NAME or fixed:MODEL.
  RouteCost cost = RouteCost::kFree;
  std::vector<std::string> fields;  // Of the body, whose text is the prompt. For kPrompt.
  std::optional<int64_t> tokens;    // For kTokens.
  bool operator==(const RouteConfig&) const = default;
};

// Pages of other origins that may read answers.
struct CorsConfig {
  std::vector<std::string> origins;  // Or "*".
  std::vector<std::string> headers;  // A page may send them; empty: those that it asks for.
  std::vector<std::string> expose;   // Headers of answers.
  bool credentials = false;
  Duration max_age = Duration::Seconds(600);
  bool operator==(const CorsConfig&) const = default;
};

// WebSockets to engines.
struct RealtimeConfig {
  int64_t connections = 100;
  Duration idle = Duration::Seconds(300);
  Duration time = Duration::Seconds(3600);
  int64_t tokens = 8192;
  bool operator==(const RealtimeConfig&) const = default;
};

// Whole JSON answers for clients that accept gzip.
struct CompressionConfig {
  bool answers = true;
  Bytes above{16LL << 10};
  bool operator==(const CompressionConfig&) const = default;
};

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_VALUES_CLIENT_CONFIG_H_
