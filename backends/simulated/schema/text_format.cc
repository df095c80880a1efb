#include "backends/simulated/schema/text_format.h"

#include "absl/strings/str_cat.h"
#include "backends/simulated/machine/mix.h"

namespace penstock::simulated {

std::string TextOfFormat(std::string_view format, uint64_t seed) {
  uint64_t draws = 0;
  const auto draw = [&] { return Mix(seed, ++draws); };
  const auto two = [&](uint64_t low, uint64_t count) { return absl::Dec(low + draw() % count, absl::kZeroPad2); };
  std::string date = absl::StrCat("2026-", two(1, 12), "-", two(1, 28));
  std::string time = absl::StrCat(two(0, 24), ":", two(0, 60), ":", two(0, 60), "Z");
  if (format == "date-time") return absl::StrCat(date, "T", time);
  if (format == "date") return date;
  if (format == "time") return time;
  if (format == "duration") return absl::StrCat("PT", 1 + draw() % 59, "M");
  if (format == "email") return absl::StrCat("user", draw() % 1000, "@example.com");
  if (format == "hostname") return absl::StrCat("host", draw() % 1000, ".example.com");
  if (format == "uri") return absl::StrCat("https://example.com/", draw() % 1000);
  if (format == "ipv4") return absl::StrCat("192.0.2.", draw() % 256);
  if (format == "ipv6") return absl::StrCat("2001:db8::", 1 + draw() % 9999);
  if (format != "uuid") return {};
  const uint64_t high = draw(), low = draw();
  return absl::StrCat(absl::Hex(high >> 32, absl::kZeroPad8), "-", absl::Hex(high >> 16 & 0xffff, absl::kZeroPad4),
                      "-4", absl::Hex(high & 0xfff, absl::kZeroPad3), "-a",
                      absl::Hex(low >> 48 & 0xfff, absl::kZeroPad3), "-",
                      absl::Hex(low & 0xffffffffffff, absl::kZeroPad12));
}

}  // namespace penstock::simulated
