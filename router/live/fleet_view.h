// The fleet and the configuration as every loop knows them: an immutable value, replaced as a whole on each change.
#ifndef PENSTOCK_ROUTER_LIVE_FLEET_VIEW_H_
#define PENSTOCK_ROUTER_LIVE_FLEET_VIEW_H_

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/engines/contract/capabilities.h"
#include "backends/transport/upstream.h"
#include "base/health.h"
#include "router/fleet/fleet_book.h"
#include "router/fleet/tenants.h"
#include "router/fleet/trusted_proxies.h"

namespace penstock {

// Notes that the loops and the watch over an engine leave each other.
struct EngineNotes {
  // One of the counts below.
  using Count = std::atomic<int> EngineNotes::*;

  std::atomic<bool> wants_answers{true};  // Its health waits for news of a good answer.
  // Running requests that may show no work for long (SilentWork). These may leave the engine idle: WebSockets.
  std::atomic<int> owe_nothing{0};
  // No step explains the silence of these: a picture, sound, a configured path.
  std::atomic<int> work_in_silence{0};
  // The engine answered that it has no path for Anthropic's dialect. A new discovery or other facts clear the note.
  std::atomic<bool> lacks_messages{false};
  // For requests that the core does not hear of. An engine that nobody watched yet counts as up.
  std::atomic<Health> health{Health::kUp};
  std::atomic<bool> away{false};  // It sleeps, or is on its way to sleep or to wake.
};

// One engine as the relay meets it.
struct EngineAccess {
  std::string name;
  std::string key;
  std::optional<UpstreamAddress> address;  // Unset: its url cannot be used, nothing is sent.
  TlsContext::Pointer tls;                 // For an https address.
  std::string server_name;
  std::optional<Capabilities> capabilities;  // Unset until the engine was recognised.
  bool overflow_fatal = false;
  // Requests name this data-parallel rank, where the engine can read it. It is the place of the rank in the engine:
  // vLLM counts from the first rank of its node (input_processor.py). Its metrics count through all nodes.
  std::optional<int> rank;
  bool tags_sessions = false;          // Its events tell the session of a request (router/kv_events/session_tag.h).
  bool speculates = false;             // An event is a step, also where it has several tokens.
  std::shared_ptr<EngineNotes> notes;  // Unset in tests without an engine.
};

// The engines of one model, together.
struct ModelAccess {
  bool streams_everything = true;           // They all answer upstream in streams.
  bool names_responses = false;             // One of them keeps responses under ids that Penstock chooses.
  bool all_known = true;                    // Each was recognised.
  EndpointSet endpoints{};                  // Those that one of them has.
  EndpointSet continues{};                  // Those where one of them continues a text that was cut.
  std::vector<OutputLimits> output_limits;  // The limits that they read, once per kind.
};

struct FleetView {
  explicit FleetView(const FleetBook& the_book)
      : book(the_book),
        tenants(book.config()),
        proxies(book.config().trusted_proxies),
        limits(std::make_shared<const LimitsConfig>(book.config().limits)) {}

  const FleetBook book;
  const TenantBook tenants;
  const TrustedProxies proxies;
  const std::shared_ptr<const LimitsConfig> limits;  // For requests and connections, which may outlive the view.
  std::vector<EngineAccess> engines;                 // Indexed by replica id.
  std::vector<ModelAccess> models;                   // Indexed by model id.
  std::vector<uint32_t> progress_group;              // Per replica: replicas that share a pool share a group.

  const Config& config() const { return book.config(); }
  // Null for a model that this view does not know.
  const ModelAccess* AccessOf(ModelId model) const {
    return model.value() < models.size() ? &models[model.value()] : nullptr;
  }
};

// Adds an engine that serves `models`; it may not be recognised yet.
void NoteModels(FleetView& view, const std::vector<ModelId>& models, const std::optional<Capabilities>& engine);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_FLEET_VIEW_H_
