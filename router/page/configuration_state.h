// The state of the configuration: its file, and how the last reload ended. Thread-safe.
#ifndef PENSTOCK_ROUTER_PAGE_CONFIGURATION_STATE_H_
#define PENSTOCK_ROUTER_PAGE_CONFIGURATION_STATE_H_

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace penstock {

class ConfigurationState {
 public:
  struct Facts {
    double loaded_at = 0;  // Seconds since 1970; the configuration in force.
    int64_t reloads = 0;   // That were taken.
    int64_t refused = 0;   // Reloads that were given up.
    std::string error;     // Why the last one was given up; empty: it was taken.
    double error_at = 0;
  };

  explicit ConfigurationState(double now) { facts_.loaded_at = now; }

  void Loaded(double now) {
    std::lock_guard lock(mutex_);
    facts_.loaded_at = now;
    ++facts_.reloads;
    facts_.error.clear();
  }
  void Refused(absl::string_view why, double now) {
    std::lock_guard lock(mutex_);
    ++facts_.refused;
    facts_.error = std::string(why.substr(0, kLongestError));
    facts_.error_at = now;
  }
  Facts facts() const {
    std::lock_guard lock(mutex_);
    return facts_;
  }

 private:
  static constexpr size_t kLongestError = 4096;

  mutable std::mutex mutex_;
  Facts facts_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_PAGE_CONFIGURATION_STATE_H_
