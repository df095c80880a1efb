// Texts of the formats that JSON schemas name, as dates and addresses. Pure.
#ifndef PENSTOCK_BACKENDS_SIMULATED_SCHEMA_TEXT_FORMAT_H_
#define PENSTOCK_BACKENDS_SIMULATED_SCHEMA_TEXT_FORMAT_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace penstock::simulated {

// A text of the format, which `seed` determines. Empty: the format is unknown, and any text satisfies it.
std::string TextOfFormat(std::string_view format, uint64_t seed);

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_SCHEMA_TEXT_FORMAT_H_
