// One engine as a table: its name, its capabilities, how to recognise it, and which pages to read.
//
// Each engine declares one constant in its own folder. The readers are pure functions from the body of a page to plain
// values. The scraper (backends/engines/scrape) fetches the pages of any declaration, so an engine has no I/O of its
// own. Constants: any thread may read them.
#ifndef PENSTOCK_BACKENDS_ENGINES_CONTRACT_ENGINE_DECLARATION_H_
#define PENSTOCK_BACKENDS_ENGINES_CONTRACT_ENGINE_DECLARATION_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "backends/engines/contract/adapter_verbs.h"
#include "backends/engines/contract/capabilities.h"
#include "backends/engines/contract/discovery.h"
#include "backends/engines/contract/sleep_verbs.h"

namespace penstock {

// A page that only this engine answers in this way.
struct Sign {
  const char* path;
  bool (*matches)(absl::string_view body);
};

enum class Need : uint8_t { kRequired, kOptional };

// A page to read after the engine was recognised, and after each return to health.
struct DiscoveryPage {
  const char* path;
  // Without a required page the discovery fails. Without an optional page its fields stay unreported.
  Need need;
  absl::Status (*read)(absl::string_view body, Discovery* found);
  const char* older_path = nullptr;  // The path in older releases, tried second.
  // After 404, 405 or 501 of an optional page. Null: nothing follows from it.
  void (*refused)(Discovery* found) = nullptr;
};

// A page to read with each poll.
struct PollPage {
  const char* path;
  // The poll fails when a required page is refused or cannot be read. A refused optional page (4xx, 501) reports
  // nothing, but its answer shows that the engine is alive. Where an optional page fails otherwise, `alive_path`
  // decides.
  Need need;
  // Null: the answer only shows that the engine is alive. An error means that the page does not have the fields.
  absl::Status (*read)(absl::string_view body, const Discovery& found, Observation* seen) = nullptr;
  // Null: always due. Depends on the discovery and on the pages before this one.
  bool (*due)(const Discovery& found, const Observation& seen) = nullptr;
  // After a refusal or an error of `read`, leave the page alone until the next discovery.
  bool ask_once_when_refused = false;
};

struct EngineDeclaration {
  EngineKind kind = EngineKind::kOpenAi;
  const char* name = "";   // In the configuration and in logs.
  const char* owner = "";  // `owned_by` in its list of models. Empty: the field does not identify the engine.
  Capabilities capabilities{};
  EngineDefaults defaults{};
  // The error message, without its full stop, that every running request gets when the pool is exhausted. Empty: none.
  const char* overflow_message = "";
  absl::Span<const Sign> signs{};  // One match is enough.
  absl::Span<const DiscoveryPage> discovery_pages{};
  absl::Span<const PollPage> poll_pages{};
  // A cheap page that a living engine answers with 2xx. Empty: any answer but 502, 503 and 504 shows that it lives.
  const char* alive_path = "";
  SleepVerbs sleep_verbs{};
  AdapterVerbs adapter_verbs{};
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_ENGINES_CONTRACT_ENGINE_DECLARATION_H_
