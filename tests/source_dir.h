// The folder of the sources: recorded data and documents that tests read.
#ifndef PENSTOCK_TESTS_SOURCE_DIR_H_
#define PENSTOCK_TESTS_SOURCE_DIR_H_

#include <string>

namespace penstock {

// The path of a file, named from the root of the repository.
std::string SourcePath(const std::string& file);

}  // namespace penstock

#endif  // PENSTOCK_TESTS_SOURCE_DIR_H_
