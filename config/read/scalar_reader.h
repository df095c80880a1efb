// Reads one plain value by its form.
//
// Each function returns true when the key was there and its value was taken. A bad value is a finding that names the
// bound, and leaves `out` as it was.
#ifndef PENSTOCK_CONFIG_READ_SCALAR_READER_H_
#define PENSTOCK_CONFIG_READ_SCALAR_READER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/units.h"
#include "config/keys/key.h"
#include "config/read/map_reader.h"

namespace penstock {

inline constexpr absl::string_view kHeaderNameRule = "must be the name of a header: letters, digits, - and _";
bool IsHeaderName(const std::string& name);

bool ReadValue(const MapReader& map, absl::string_view key, const FlagForm& form, bool* out);
bool ReadValue(const MapReader& map, absl::string_view key, const CountForm& form, int64_t* out);
bool ReadValue(const MapReader& map, absl::string_view key, const NumberForm& form, double* out);
bool ReadValue(const MapReader& map, absl::string_view key, const SizeForm& form, Bytes* out);
bool ReadValue(const MapReader& map, absl::string_view key, const TimeForm& form, Duration* out);
bool ReadValue(const MapReader& map, absl::string_view key, const ParametersForm& form, double* out);
bool ReadValue(const MapReader& map, absl::string_view key, const BandwidthForm& form, double* out);
// The position of the name.
bool ReadValue(const MapReader& map, absl::string_view key, const ChoiceForm& form, size_t* out);
bool ReadValue(const MapReader& map, absl::string_view key, const TextsForm& form, std::vector<std::string>* out);

// Texts. A text that breaks its form's own rule is a finding and is taken all the same.
bool ReadValue(const MapReader& map, absl::string_view key, const TextForm& form, std::string* out);
bool ReadValue(const MapReader& map, absl::string_view key, const PathForm& form, std::string* out);
bool ReadValue(const MapReader& map, absl::string_view key, const NameForm& form, std::string* out);
bool ReadValue(const MapReader& map, absl::string_view key, const FilledTextForm& form, std::string* out);
bool ReadValue(const MapReader& map, absl::string_view key, const ListenForm& form, std::string* out);
bool ReadValue(const MapReader& map, absl::string_view key, const EngineUrlForm& form, std::string* out);
bool ReadValue(const MapReader& map, absl::string_view key, const HeaderNameForm& form, std::string* out);
bool ReadValue(const MapReader& map, absl::string_view key, const HeaderNamesForm& form, std::vector<std::string>* out);
bool ReadValue(const MapReader& map, absl::string_view key, const ProxiesForm& form, std::vector<std::string>* out);

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_READ_SCALAR_READER_H_
