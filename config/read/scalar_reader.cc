#include "config/read/scalar_reader.h"

#include <algorithm>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/text/address_range.h"
#include "config/text/addresses.h"
#include "config/text/findings.h"
#include "config/text/units_text.h"
#include "config/values/config_values.h"

namespace penstock {
namespace {

constexpr size_t kLongestName = 256;

std::string FormatCount(int64_t count) { return absl::StrCat(count); }
std::string FormatBandwidth(double gb_per_s) { return absl::StrCat(FormatNumber(gb_per_s), "GB/s"); }

// Takes a parsed value inside its bounds; else adds a finding with the bounds.
template <class T>
bool Take(const MapReader& map, absl::string_view key, const absl::StatusOr<T>& parsed, T lowest, T highest,
          std::string (*format)(T), T* out) {
  if (!parsed.ok()) {
    map.Fail(key, absl::StrCat(absl::string_view(parsed.status().message()), "; allowed ", format(lowest), " to ",
                               format(highest)));
    return false;
  }
  if (*parsed < lowest || highest < *parsed) {
    map.Fail(key, absl::StrCat(format(*parsed), " is outside ", format(lowest), " to ", format(highest)));
    return false;
  }
  *out = *parsed;
  return true;
}

}  // namespace

bool IsHeaderName(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_';
  });
}

bool ReadValue(const MapReader& map, absl::string_view key, const FlagForm&, bool* out) {
  const std::optional<std::string> text = map.Scalar(key, "true or false");
  if (!text) return false;
  if (*text != "true" && *text != "false") {
    map.Fail(key, absl::StrCat("\"", *text, "\" is not true or false"));
    return false;
  }
  *out = *text == "true";
  return true;
}

bool ReadValue(const MapReader& map, absl::string_view key, const CountForm& form, int64_t* out) {
  const std::optional<std::string> text = map.Scalar(key, "a whole number");
  return text && Take(map, key, ParseCount(*text), form.lowest, form.highest, &FormatCount, out);
}

bool ReadValue(const MapReader& map, absl::string_view key, const NumberForm& form, double* out) {
  const std::optional<std::string> text = map.Scalar(key, "a number");
  return text && Take(map, key, ParseNumber(*text), form.lowest, form.highest, &FormatNumber, out);
}

bool ReadValue(const MapReader& map, absl::string_view key, const SizeForm& form, Bytes* out) {
  const std::optional<std::string> text = map.Scalar(key, "a size");
  return text && Take(map, key, ParseSize(*text), form.lowest, form.highest, &FormatSize, out);
}

bool ReadValue(const MapReader& map, absl::string_view key, const TimeForm& form, Duration* out) {
  const std::optional<std::string> text = map.Scalar(key, "a duration");
  return text && Take(map, key, ParseDuration(*text), form.lowest, form.highest, &FormatDuration, out);
}

bool ReadValue(const MapReader& map, absl::string_view key, const ParametersForm& form, double* out) {
  const std::optional<std::string> text = map.Scalar(key, "a number of parameters");
  return text && Take(map, key, ParseParameters(*text), form.lowest, form.highest, &FormatNumber, out);
}

bool ReadValue(const MapReader& map, absl::string_view key, const BandwidthForm& form, double* out) {
  const std::optional<std::string> text = map.Scalar(key, "a bandwidth");
  return text && Take(map, key, ParseBandwidth(*text), form.lowest, form.highest, &FormatBandwidth, out);
}

bool ReadValue(const MapReader& map, absl::string_view key, const ChoiceForm& form, size_t* out) {
  const std::optional<std::string> text = map.Scalar(key, "a name");
  if (!text) return false;
  const auto found = std::find(form.names.begin(), form.names.end(), absl::string_view(*text));
  if (found == form.names.end()) {
    map.Fail(key,
             absl::StrCat("unknown name \"", *text, "\"", map.Suggest(*text, {form.names.begin(), form.names.end()}),
                          ", known: ", absl::StrJoin(form.names, " ")));
    return false;
  }
  *out = static_cast<size_t>(found - form.names.begin());
  return true;
}

bool ReadValue(const MapReader& map, absl::string_view key, const TextsForm&, std::vector<std::string>* out) {
  std::optional<std::vector<std::string>> texts = map.Texts(key);
  if (!texts) return false;
  *out = *std::move(texts);
  return true;
}

bool ReadValue(const MapReader& map, absl::string_view key, const TextForm&, std::string* out) {
  const std::optional<std::string> text = map.Scalar(key, "a text");
  if (!text) return false;
  const bool control =
      std::any_of(text->begin(), text->end(), [](char c) { return static_cast<unsigned char>(c) < 32; });
  if (control) {
    map.Fail(key, "contains control characters");
    return false;
  }
  *out = *text;
  return true;
}

bool ReadValue(const MapReader& map, absl::string_view key, const PathForm&, std::string* out) {
  if (!ReadValue(map, key, TextForm{}, out)) return false;
  if (out->empty()) map.Fail(key, "must not be empty; leave the key out instead");
  return true;
}

bool ReadValue(const MapReader& map, absl::string_view key, const NameForm&, std::string* out) {
  if (!ReadValue(map, key, TextForm{}, out)) return false;
  if (out->empty() || out->size() > kLongestName || out->find(' ') != std::string::npos) {
    map.Fail(key, absl::StrCat("must be 1 to ", kLongestName, " characters without spaces"));
  }
  return true;
}

bool ReadValue(const MapReader& map, absl::string_view key, const FilledTextForm&, std::string* out) {
  const bool read = ReadValue(map, key, TextForm{}, out);
  if ((read || map.IsNull(key)) && out->empty()) map.Fail(key, "must not be empty");
  return read;
}

bool ReadValue(const MapReader& map, absl::string_view key, const ListenForm&, std::string* out) {
  if (!ReadValue(map, key, TextForm{}, out)) return false;
  const absl::StatusOr<ListenAddress> address = ParseListen(*out);
  if (!address.ok()) map.Fail(key, address.status().message());
  return true;
}

bool ReadValue(const MapReader& map, absl::string_view key, const EngineUrlForm&, std::string* out) {
  if (!ReadValue(map, key, TextForm{}, out)) return false;
  const absl::StatusOr<EngineUrl> url = ParseEngineUrl(*out);
  if (!url.ok()) map.Fail(key, url.status().message());
  return true;
}

bool ReadValue(const MapReader& map, absl::string_view key, const HeaderNameForm&, std::string* out) {
  if (!ReadValue(map, key, TextForm{}, out)) return false;
  if (!IsHeaderName(*out)) map.Fail(key, kHeaderNameRule);
  return true;
}

bool ReadValue(const MapReader& map, absl::string_view key, const HeaderNamesForm&, std::vector<std::string>* out) {
  if (!ReadValue(map, key, TextsForm{}, out)) return false;
  for (size_t i = 0; i < out->size(); ++i) {
    if (!IsHeaderName((*out)[i])) map.FailAt(key, i, kHeaderNameRule);
  }
  return true;
}

bool ReadValue(const MapReader& map, absl::string_view key, const ProxiesForm&, std::vector<std::string>* out) {
  if (!ReadValue(map, key, TextsForm{}, out)) return false;
  for (size_t i = 0; i < out->size(); ++i) {
    if ((*out)[i] == kTrustedUnix) continue;
    const absl::StatusOr<AddressRange> range = ParseAddressRange((*out)[i]);
    if (!range.ok()) map.FailAt(key, i, range.status().message());
  }
  return true;
}

}  // namespace penstock
