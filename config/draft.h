// A configuration while it is read: values beside the places they came from. Private to config/.
#ifndef PENSTOCK_CONFIG_DRAFT_H_
#define PENSTOCK_CONFIG_DRAFT_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "config/config.h"
#include "config/map_reader.h"

namespace penstock {

struct Draft {
  Config config;
  MapReader root;
  // The readers of config.gpus, .models, .replicas and .tenants, position by position.
  std::vector<MapReader> gpus;
  std::vector<MapReader> models;
  std::vector<MapReader> replicas;
  std::vector<MapReader> tenants;
  std::string folder;  // That relative paths are relative to; empty: the working directory.

  // Reads a file that the configuration names and notes it among the sources.
  absl::StatusOr<std::string> ReadNamedFile(const std::string& path, size_t limit);
};

// Each reads its part of the root into the draft, values and ranges only.
void ReadGpus(Draft& draft);
void ReadModels(Draft& draft);
void ReadReplicas(Draft& draft);
void ReadClasses(Draft& draft);
void ReadTenants(Draft& draft);
// `tls` and `admin_tls`.
void ReadListenTls(Draft& draft);
void ReadOtherSections(Draft& draft, const PolicyCheck& policies);

// What one value alone cannot tell: references, duplicates, impossible fleets.
void CheckFleet(const Draft& draft, const LoadOptions& options);

// The `tls:` of a replica.
std::optional<EngineTlsConfig> ReadEngineTls(Draft& draft, const MapReader& replica);

// A `shape:` mapping of numbers; findings go to the reader's.
std::optional<ModelShape> ReadShapeNumbers(const MapReader& reader, const std::string& name);

// The value of a secret: ${NAME} replaced from the environment, file:PATH by the file's content without its last line
// end. InvalidArgument names the variable or file, never a value.
absl::StatusOr<std::string> ResolveSecret(const std::string& text, Draft& draft);
// The digest of an API key that is given as a secret or as sha256:HEX.
absl::StatusOr<std::string> ResolveKeyDigest(const std::string& text, Draft& draft);
// A file of at most `limit` bytes; relative paths are taken from `folder`.
absl::StatusOr<std::string> ReadWholeFile(const std::string& path, const std::string& folder, size_t limit);

// The built-in classes, as a file without `classes` has them.
std::vector<ClassConfig> BuiltinClasses();

const std::vector<absl::string_view>& EngineNames();
const std::vector<absl::string_view>& CacheDtypeNames();  // In the order of CacheDtype.

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_DRAFT_H_
