// The behaviours of one engine that the router has to respect, and the limits to assume until the engine reports its
// own.
#ifndef PENSTOCK_BACKENDS_ENGINES_CONTRACT_CAPABILITIES_H_
#define PENSTOCK_BACKENDS_ENGINES_CONTRACT_CAPABILITIES_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "backends/dialect/endpoint.h"
#include "base/units.h"

namespace penstock {

// The page of an engine that counts the tokens of a text.
struct TextCount {
  const char* path = nullptr;  // Null: there is none.
  // The body of the question; `text` is the inside of a JSON string.
  std::string (*ask)(absl::string_view text) = nullptr;
  std::optional<Tokens> (*read)(absl::string_view answer) = nullptr;  // Null: the answer has no count.
  bool requests = false;  // The path also takes the body of a request, and counts its prompt with the template.
};

struct Capabilities {
  bool stream_everything = false;       // A running request can be cancelled only while it streams.
  bool closes_after_stream = false;     // The engine closes the connection after a streamed answer.
  bool continues_final_message = true;  // Chat: the answer continues a trailing assistant message.
  bool continues_messages = false;      // Anthropic's dialect: the same, without being asked.
  bool continues_prompts = true;        // Completions: a prompt is what the model gets, without a template around it.
  bool latest_tag = false;              // NAME and NAME:latest are the same model.
  EndpointSet endpoints{Endpoint::kChat, Endpoint::kCompletions, Endpoint::kEmbeddings};
  Duration idle_limit = Duration::Seconds(4);  // Close an idle connection before the engine does.
  Duration abort_memory_hold;                  // Memory may stay taken for this long after a cancel.
  OutputLimits output_limits{};                // The fields of a request that limit its output.
  bool names_responses = false;                // It keeps a response under the id that the body's request_id names.
  bool hands_over = false;                     // Its connectors hand caches over (backends/dialect/handover).
  TextCount text_count{};                      // For engines that put several tokens into an event.
  const char* rank_header = "";                // Names the data-parallel rank of a request. Empty: none does.
  // Headers of a client that this kind of engine gets beside the usual ones, in lower case.
  absl::Span<const absl::string_view> request_headers{};

  // A longer prompt continues a text that was cut; that of a message may have to be a chat.
  bool Continues(Endpoint endpoint) const {
    if (endpoint == Endpoint::kMessages) return continues_messages || continues_final_message;
    if (endpoint == Endpoint::kCompletions) return continues_prompts;
    return endpoint == Endpoint::kChat && continues_final_message;
  }
  // A message can be translated to a chat.
  bool Supports(Endpoint endpoint) const {
    if (endpoint == Endpoint::kStoredResponse) return names_responses;
    if (endpoint == Endpoint::kMessages && endpoints.Has(Endpoint::kChat)) return true;
    return IsRoute(endpoint) || endpoints.Has(endpoint);
  }
};

// Limits to assume while neither the engine nor the configuration gives them.
struct EngineDefaults {
  Tokens block{16};
  Tokens batch_budget{2048};
  int max_sequences = 256;
  bool keeps_prefixes = false;  // The engine serves the head of a prompt from the blocks of an earlier prompt.
  bool overflow_fatal = false;  // An exhausted pool fails every running request.
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_ENGINES_CONTRACT_CAPABILITIES_H_
