// Quantities as people write them, in configuration files and on the command line: "18GB", "250ms", "600k".
//
// A number and a unit, optionally one space between; decimals are accepted where the result is whole. A bare number is
// an error where a unit is needed, zero too. Errors are
// InvalidArgument and list the units.
#ifndef PENSTOCK_CONFIG_TEXT_UNITS_TEXT_H_
#define PENSTOCK_CONFIG_TEXT_UNITS_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/units.h"

namespace penstock {

// B kB MB GB TB (powers of 1000), KiB MiB GiB TiB (powers of 1024).
absl::StatusOr<Bytes> ParseSize(absl::string_view text);
// ns us ms s m h d. Never negative.
absl::StatusOr<Duration> ParseDuration(absl::string_view text);
// A whole number, or one with the suffix k (1e3) or M (1e6).
absl::StatusOr<int64_t> ParseCount(absl::string_view text);
// A number with an optional suffix k, M, B (1e9) or T (1e12): parameters of a model.
absl::StatusOr<double> ParseParameters(absl::string_view text);
// A size per second ("2039GB/s"), in GB/s.
absl::StatusOr<double> ParseBandwidth(absl::string_view text);
// A finite decimal number.
absl::StatusOr<double> ParseNumber(absl::string_view text);

// The largest unit that divides it: what the parsers above read back to the same value.
std::string FormatSize(Bytes bytes);
std::string FormatDuration(Duration duration);
// The shortest decimal that reads back to the same double.
std::string FormatNumber(double number);

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_TEXT_UNITS_TEXT_H_
