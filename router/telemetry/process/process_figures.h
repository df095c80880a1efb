// Figures of this process, as /proc has them. Any thread; costs some system calls, and one more per hundred
// descriptors.
#ifndef PENSTOCK_ROUTER_TELEMETRY_PROCESS_PROCESS_FIGURES_H_
#define PENSTOCK_ROUTER_TELEMETRY_PROCESS_PROCESS_FIGURES_H_

#include <optional>

#include "absl/strings/string_view.h"

namespace penstock {

struct ProcessFigures {
  double cpu_seconds = 0;
  double resident_bytes = 0;
  double virtual_bytes = 0;
  double open_descriptors = 0;
  double most_descriptors = 0;
  double threads = 0;
  double started_at = 0;  // Unix time.
};

// nullopt: this system has no /proc.
std::optional<ProcessFigures> ReadProcessFigures();

// The numbers of /proc/self/stat that are needed.
struct StatFigures {
  double cpu_ticks = 0;
  double threads = 0;
  double start_ticks = 0;  // Since the system started.
  double virtual_bytes = 0;
  double resident_pages = 0;
};
// Pure. A name with blanks and brackets does no harm. nullopt: not of that form.
std::optional<StatFigures> ParseStat(absl::string_view text);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_TELEMETRY_PROCESS_PROCESS_FIGURES_H_
