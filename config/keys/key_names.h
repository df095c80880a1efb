// The names of a section's keys, in the order of its field list.
#ifndef PENSTOCK_CONFIG_KEYS_KEY_NAMES_H_
#define PENSTOCK_CONFIG_KEYS_KEY_NAMES_H_

#include <vector>

#include "config/keys/fleet_keys.h"
#include "config/keys/service_keys.h"
#include "config/keys/shape_keys.h"

namespace penstock {

class KeyNameCollector {
 public:
  template <class Value, class Form>
  void operator()(const Key& key, const Value&, const Form&) {
    names_.push_back(key.name);
  }
  const std::vector<absl::string_view>& names() const { return names_; }

 private:
  std::vector<absl::string_view> names_;
};

// Safe from any thread; the list lives as long as the program.
template <class Section>
const std::vector<absl::string_view>& KeyNames() {
  static const std::vector<absl::string_view> names = [] {
    KeyNameCollector collector;
    const Section section = DefaultOf<Section>();
    VisitFields(section, collector);
    return collector.names();
  }();
  return names;
}

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_KEYS_KEY_NAMES_H_
