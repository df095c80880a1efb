// Writes to a file, a pipe or a socket whose reader may stand still.
#ifndef PENSTOCK_ROUTER_TELEMETRY_LOG_PATIENT_WRITE_H_
#define PENSTOCK_ROUTER_TELEMETRY_LOG_PATIENT_WRITE_H_

#include <functional>

#include "absl/strings/string_view.h"

namespace penstock {

// Returns the bytes that were written. While there is no room, asks `go_on` every 20 ms, and gives up when it says no.
// Never waits in the kernel but for a disk. A text that was given up may be written in part. `error` gets the errno of
// a write that failed.
size_t WritePatiently(int file, absl::string_view text, const std::function<bool()>& go_on, int* error = nullptr);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_TELEMETRY_LOG_PATIENT_WRITE_H_
