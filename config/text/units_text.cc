#include "config/text/units_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace penstock {
namespace {

struct Unit {
  absl::string_view name;
  int64_t factor;
};

constexpr int64_t kKi = 1024;
// Descending, so that formatting takes the largest that divides.
constexpr std::array<Unit, 9> kSizes = {{{"TiB", kKi* kKi* kKi* kKi},
                                         {"TB", 1'000'000'000'000},
                                         {"GiB", kKi* kKi* kKi},
                                         {"GB", 1'000'000'000},
                                         {"MiB", kKi* kKi},
                                         {"MB", 1'000'000},
                                         {"KiB", kKi},
                                         {"kB", 1'000},
                                         {"B", 1}}};
constexpr absl::string_view kSizeNames = "B kB MB GB TB KiB MiB GiB TiB";
constexpr std::array<Unit, 7> kDurations = {{{"d", 86'400'000'000'000},
                                             {"h", 3'600'000'000'000},
                                             {"m", 60'000'000'000},
                                             {"s", 1'000'000'000},
                                             {"ms", 1'000'000},
                                             {"us", 1'000},
                                             {"ns", 1}}};
constexpr absl::string_view kDurationNames = "ns us ms s m h d";
constexpr std::array<Unit, 3> kCounts = {{{"", 1}, {"k", 1'000}, {"M", 1'000'000}}};

struct Split {
  absl::string_view number;
  absl::string_view unit;
};

Split SplitUnit(absl::string_view text) {
  size_t end = 0;
  while (end < text.size() && (absl::ascii_isdigit(static_cast<unsigned char>(text[end])) || text[end] == '.')) ++end;
  Split split{text.substr(0, end), text.substr(end)};
  absl::ConsumePrefix(&split.unit, " ");
  return split;
}

template <size_t N>
std::optional<int64_t> FactorOf(absl::string_view name, const std::array<Unit, N>& units) {
  for (const Unit& unit : units) {
    if (unit.name == name) return unit.factor;
  }
  return std::nullopt;
}

// number x factor, exactly: decimals are scaled digit by digit, not through a double.
absl::StatusOr<int64_t> Scale(absl::string_view number, int64_t factor, absl::string_view text) {
  const auto bad = [&](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" ", why));
  };
  const size_t dot = number.find('.');
  const absl::string_view whole = number.substr(0, dot);
  const absl::string_view decimals = dot == absl::string_view::npos ? absl::string_view() : number.substr(dot + 1);
  if (whole.empty() || decimals.size() > 15 || decimals.find('.') != absl::string_view::npos ||
      (dot != absl::string_view::npos && decimals.empty())) {
    return bad("is not a number with a unit");
  }
  int64_t value = 0;
  if (!absl::SimpleAtoi(whole, &value)) return bad("is too large");
  // Exact in 128 bits: 15 decimals and the largest factor stay far below the limit.
  __extension__ using Wide = __int128;
  Wide scaled = static_cast<Wide>(value) * factor;
  Wide part = 0;
  Wide scale = 1;
  for (const char digit : decimals) {
    part = part * 10 + (digit - '0');
    scale *= 10;
  }
  part *= factor;
  if (part % scale != 0) return bad("is finer than its smallest unit");
  scaled += part / scale;
  if (scaled > std::numeric_limits<int64_t>::max() / 8) return bad("is too large");
  return static_cast<int64_t>(scaled);
}

template <size_t N>
absl::StatusOr<int64_t> ParseWithUnit(absl::string_view text, const std::array<Unit, N>& units, absl::string_view what,
                                      absl::string_view names) {
  const Split split = SplitUnit(text);
  if (split.number.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is not a ", what, "; units: ", names));
  }
  const std::optional<int64_t> factor = FactorOf(split.unit, units);
  if (!factor) {
    return absl::InvalidArgumentError(split.unit.empty()
                                          ? absl::StrCat("\"", text, "\" needs a unit, one of ", names)
                                          : absl::StrCat("unknown unit \"", split.unit, "\", use one of ", names));
  }
  return Scale(split.number, *factor, text);
}

template <size_t N>
std::string FormatWithUnit(int64_t value, const std::array<Unit, N>& units) {
  for (const Unit& unit : units) {
    if (value != 0 && value % unit.factor == 0) return absl::StrCat(value / unit.factor, unit.name);
  }
  return absl::StrCat(value, units.back().name);
}

}  // namespace

absl::StatusOr<Bytes> ParseSize(absl::string_view text) {
  const absl::StatusOr<int64_t> value = ParseWithUnit(text, kSizes, "size", kSizeNames);
  if (!value.ok()) return value.status();
  return Bytes(*value);
}

absl::StatusOr<Duration> ParseDuration(absl::string_view text) {
  const absl::StatusOr<int64_t> value = ParseWithUnit(text, kDurations, "duration", kDurationNames);
  if (!value.ok()) return value.status();
  return Duration::Nanoseconds(*value);
}

absl::StatusOr<int64_t> ParseCount(absl::string_view text) {
  return ParseWithUnit(text, kCounts, "whole number", "k (thousand), M (million) or none");
}

absl::StatusOr<double> ParseNumber(absl::string_view text) {
  double value = 0;
  if (text.empty() || !absl::SimpleAtod(text, &value) || !std::isfinite(value)) {
    return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is not a number"));
  }
  return value;
}

absl::StatusOr<double> ParseParameters(absl::string_view text) {
  double factor = 1;
  absl::string_view number = text;
  if (absl::ConsumeSuffix(&number, "k"))
    factor = 1e3;
  else if (absl::ConsumeSuffix(&number, "M"))
    factor = 1e6;
  else if (absl::ConsumeSuffix(&number, "B"))
    factor = 1e9;
  else if (absl::ConsumeSuffix(&number, "T"))
    factor = 1e12;
  const absl::StatusOr<double> value = ParseNumber(number);
  if (!value.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is not a number of parameters (8.03B, 500M)"));
  }
  return *value * factor;
}

absl::StatusOr<double> ParseBandwidth(absl::string_view text) {
  absl::string_view size = text;
  if (!absl::ConsumeSuffix(&size, "/s")) {
    return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" needs a unit per second, as 2039GB/s"));
  }
  const absl::StatusOr<Bytes> bytes = ParseSize(size);
  if (!bytes.ok()) return bytes.status();
  return bytes->AsDouble() / 1e9;
}

std::string FormatSize(Bytes bytes) { return FormatWithUnit(bytes.value(), kSizes); }

std::string FormatDuration(Duration duration) {
  return duration == Duration() ? "0s" : FormatWithUnit(duration.nanoseconds(), kDurations);
}

std::string FormatNumber(double number) {
  std::array<char, 32> text;
  // Numbers of a file have no exponent.
  const bool plain = number == 0 || (std::abs(number) >= 1e-6 && std::abs(number) < 1e15);
  char* const end = text.data() + text.size();
  const auto result = plain ? std::to_chars(text.data(), end, number, std::chars_format::fixed)
                            : std::to_chars(text.data(), end, number);
  return std::string(text.data(), result.ptr);
}

}  // namespace penstock
