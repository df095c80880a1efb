// The declaration of one metric. A value.
#ifndef PENSTOCK_ROUTER_TELEMETRY_REGISTRY_METRIC_H_
#define PENSTOCK_ROUTER_TELEMETRY_REGISTRY_METRIC_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace penstock {

enum class MetricType : uint8_t { kCounter, kGauge, kHistogram };

struct Metric {
  std::string_view group;  // Heading in the reference.
  std::string_view name;
  MetricType type;
  std::string_view labels;  // Names in alphabetical order, one space between.
  std::string_view help;
};

// The place of the metric of this name in a list; that behind its end: it has none. Rejected: a pointer. g++ 12 folds
// no comparison with null under UBSan.
template <size_t N>
constexpr size_t PlaceOf(std::string_view name, const Metric (&list)[N]) {
  size_t place = 0;
  while (place < N && list[place].name != name) ++place;
  return place;
}

// The metric of this name in one of the lists; a name that is in none does not compile.
template <size_t N, class... Others>
consteval const Metric& MetricIn(std::string_view name, const Metric (&list)[N], const Others&... others) {
  const size_t place = PlaceOf(name, list);
  if constexpr (sizeof...(others) > 0) {
    return place < N ? list[place] : MetricIn(name, others...);
  } else {
    if (place == N) throw "no metric of this name";
    return list[place];
  }
}

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_TELEMETRY_REGISTRY_METRIC_H_
