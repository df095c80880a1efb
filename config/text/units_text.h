// Quantities as people write them, in configuration files and on the command line: "18GB", "250ms", "600k".
//
// A quantity is a number and a unit, with at most one space between. Decimals are accepted where the result is whole. A
// bare number is an error where a unit is needed, also zero. Errors are InvalidArgument and list the units.
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

// The text with the largest unit that divides the value. The parsers above read the same value back.
std::string FormatSize(Bytes bytes);
std::string FormatDuration(Duration duration);
// The shortest decimal that reads back to the same double.
std::string FormatNumber(double number);

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_TEXT_UNITS_TEXT_H_
