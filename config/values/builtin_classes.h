// The three built-in classes of requests: interactive, standard and background.
#ifndef PENSTOCK_CONFIG_VALUES_BUILTIN_CLASSES_H_
#define PENSTOCK_CONFIG_VALUES_BUILTIN_CLASSES_H_

#include <vector>

#include "config/values/config_values.h"

namespace penstock {

// Position of `standard`, the default class unless the file marks another.
inline constexpr size_t kStandardClass = 1;

// The class of lines of batches, below all others. There where the file has `state.path`.
inline constexpr const char* kJobsClass = "jobs";

// Its goals and queue time: it takes what is left.
ClassConfig JobsClass();
// The built-in classes with the goals and queue times of a file that names them.
std::vector<ClassConfig> NamedBuiltinClasses();
// The built-in classes of a file that does not name them: each queues up to 10 minutes and refuses nothing for
// lateness.
std::vector<ClassConfig> UnnamedBuiltinClasses();

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_VALUES_BUILTIN_CLASSES_H_
