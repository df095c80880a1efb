#include "tests/source_dir.h"

namespace penstock {

std::string SourcePath(const std::string& file) { return PENSTOCK_SOURCE_DIR "/" + file; }

}  // namespace penstock
