// The memory that the process may take, the budgets that it allows, and how freed memory goes back to the system.
//
// Bodies and answers are the parts of the router that clients and engines grow. They take half and an eighth of the
// memory at most. The rest is for connections, parsers and logs, and for the reserve of the allocator.
#ifndef PENSTOCK_APP_SERVE_MEMORY_LIMIT_H_
#define PENSTOCK_APP_SERVE_MEMORY_LIMIT_H_

#include <string>
#include <vector>

#include "base/units.h"
#include "config/values/config_values.h"

namespace penstock {

struct ProcessMemory {
  Bytes bytes;
  std::string source;  // The limit that holds, as an operator knows it: "ulimit -v".
};

// The least of the machine's memory, the limits of its control groups (both versions) and the address space that
// `ulimit -v` leaves. Files are read below `root`: an empty one is the system's. It reads some small files.
ProcessMemory MemoryOfProcess(const std::string& root = "");

// Lowers the budgets of bodies and answers, and the limits of a single one, to what the memory allows. Returns a notice
// for each that it lowers.
std::vector<std::string> FitToMemory(const ProcessMemory& memory, LimitsConfig& limits);

// Lets the allocator give large buffers back to the system, and the pools of threads that ended. `threads`: those for
// connections; 0: one per core. To be called once, before they start.
void GiveMemoryBack(int threads);

}  // namespace penstock

#endif  // PENSTOCK_APP_SERVE_MEMORY_LIMIT_H_
