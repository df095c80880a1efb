// The files that the router writes are none of those that it reads, or that its job store owns.
//
// Files are compared by device and inode, so that links of either kind hide nothing. Reads the file system; one thread.
#ifndef PENSTOCK_APP_SERVE_WRITTEN_FILES_H_
#define PENSTOCK_APP_SERVE_WRITTEN_FILES_H_

#include <string>

#include "config/config.h"

namespace penstock {

// Why lines of a log at `log_path` would destroy a file of the configuration or of its state folder. Empty: they would
// not.
std::string HarmOfLog(const std::string& log_path, const Config& config);

}  // namespace penstock

#endif  // PENSTOCK_APP_SERVE_WRITTEN_FILES_H_
