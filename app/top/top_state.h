// The documents of a router's page as values for a terminal. All texts are harmless (base/harmless.h).
#ifndef PENSTOCK_APP_TOP_TOP_STATE_H_
#define PENSTOCK_APP_TOP_TOP_STATE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock::top {

// The color of a row.
enum class Tone : uint8_t { kPlain, kGood, kWarn, kBad };

// One GPU, in bytes. The parts of its replicas are added up.
struct GpuBar {
  std::string name;
  std::string kind;
  double memory = 0;  // 0: unknown.
  double weights = 0;
  double held = 0;
  double promised = 0;  // Beyond what is held.
  double room = 0;      // Of the pools, beyond what is promised.
};

// A table as texts, with the values by which it sorts.
struct Cell {
  std::string text;
  double number = 0;
};
struct Row {
  std::vector<Cell> cells;
  Tone tone = Tone::kPlain;
};
struct Column {
  std::string title;
  int width = 8;  // The first column takes what the others leave.
  bool number = false;
};
struct Table {
  std::string title;
  std::string empty;  // The words of an empty table.
  std::vector<Column> columns;
  std::vector<Row> rows;
};

enum class Panel : uint8_t { kReplicas, kQueue, kTenants, kDecisions, kNodes };
inline constexpr size_t kPanels = 5;

// One policy of a comparison under the same traffic.
struct Contestant {
  std::string policy;
  double on_time = 0;  // Share of the requests that ended.
  double active_per_s = 0;
  double ttft_p99 = -1;  // Seconds; below 0: unknown.
};

struct TopState {
  std::string version;
  std::string policy;
  double uptime = 0;
  bool draining = false;
  double active_per_s = 0;
  double late_per_s = 0;
  double wasted_per_s = 0;
  int64_t running = 0;
  int64_t waiting = 0;
  int64_t replicas = 0;
  int64_t replicas_up = 0;
  std::string last_error;  // The configuration has it; empty: none.
  std::vector<Contestant> comparison;
  std::string gpu_time;  // Since start, in words.
  std::string shadow;    // The policy in the shadow, in words; empty: there is none.
  std::vector<GpuBar> gpus;
  Table tables[kPanels];
};

// InvalidArgument: `json` is no state of this version of Penstock.
absl::StatusOr<TopState> ReadState(absl::string_view json);

}  // namespace penstock::top

#endif  // PENSTOCK_APP_TOP_TOP_STATE_H_
