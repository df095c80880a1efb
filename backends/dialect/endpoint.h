// The routes that carry requests for engines, their costs, and the fields that limit the output there.
//
// Engines differ in the endpoints that they have and in the fields that they read (backends/engines). Values; pure.
#ifndef PENSTOCK_BACKENDS_DIALECT_ENDPOINT_H_
#define PENSTOCK_BACKENDS_DIALECT_ENDPOINT_H_

#include <cstdint>
#include <initializer_list>
#include <optional>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace penstock {

enum class Endpoint : uint8_t {
  kChat,
  kCompletions,
  kEmbeddings,
  kResponses,
  kRerank,
  kScore,
  kPooling,
  kClassify,
  kModerations,
  kTokenize,
  kDetokenize,
  kMessages,     // Anthropic's dialect.
  kCountTokens,  // The same, without an answer.
  kTranscriptions,
  kTranslations,
  kSpeech,
  kImages,
  kImageEdits,
  kRealtime,        // A WebSocket, whose frames pass unread.
  kStoredResponse,  // A response that an engine keeps under the id that its request named.
  kRoute,           // A configured path whose requests take memory.
  kFreeRoute,       // A configured path whose requests take none.
};
inline constexpr int kEndpointCount = 22;

// The memory that a request takes from an engine's KV pool.
enum class EndpointCost : uint8_t {
  kOutput,  // For its prompt, and for an output that grows.
  kPrompt,  // For its prompt, for one step.
  kNone,    // The engine's front end answers alone.
};

struct EndpointTraits {
  absl::string_view label;  // In metrics and logs.
  absl::string_view path;   // At an engine, unless the engine has one of its own.
  EndpointCost cost = EndpointCost::kOutput;
  bool passed = false;  // The answer is of any type and passes as it comes.
  bool form = false;    // The body is a form in parts, not a JSON object.
  int64_t tokens = 0;   // Taken for the prompt, where the body does not tell its length. 0: it does.
};

// The frames of half a minute of sound, by Whisper's encoder.
inline constexpr int64_t kSoundTokens = 1500;
inline constexpr int64_t kPictureTokens = 256;

constexpr EndpointTraits TraitsOf(Endpoint endpoint) {
  switch (endpoint) {
    case Endpoint::kChat:
      return {"chat", "/v1/chat/completions", EndpointCost::kOutput};
    case Endpoint::kCompletions:
      return {"completions", "/v1/completions", EndpointCost::kOutput};
    case Endpoint::kEmbeddings:
      return {"embeddings", "/v1/embeddings", EndpointCost::kPrompt};
    case Endpoint::kResponses:
      return {"responses", "/v1/responses", EndpointCost::kOutput};
    case Endpoint::kRerank:
      return {"rerank", "/v1/rerank", EndpointCost::kPrompt};
    case Endpoint::kScore:
      return {"score", "/v1/score", EndpointCost::kPrompt};
    case Endpoint::kPooling:
      return {"pooling", "/pooling", EndpointCost::kPrompt};
    case Endpoint::kClassify:
      return {"classify", "/classify", EndpointCost::kPrompt};
    case Endpoint::kModerations:
      return {"moderations", "/v1/moderations", EndpointCost::kPrompt};
    case Endpoint::kTokenize:
      return {"tokenize", "/tokenize", EndpointCost::kNone};
    case Endpoint::kDetokenize:
      return {"detokenize", "/detokenize", EndpointCost::kNone};
    case Endpoint::kMessages:
      return {"messages", "/v1/messages", EndpointCost::kOutput};
    case Endpoint::kCountTokens:
      return {"count_tokens", "/v1/messages/count_tokens", EndpointCost::kNone};
    case Endpoint::kTranscriptions:
      return {"transcriptions", "/v1/audio/transcriptions", EndpointCost::kPrompt, true, true, kSoundTokens};
    case Endpoint::kTranslations:
      return {"translations", "/v1/audio/translations", EndpointCost::kPrompt, true, true, kSoundTokens};
    case Endpoint::kSpeech:
      return {"speech", "/v1/audio/speech", EndpointCost::kPrompt, true};
    case Endpoint::kImages:
      return {"images", "/v1/images/generations", EndpointCost::kPrompt, true};
    case Endpoint::kImageEdits:
      return {"image_edits", "/v1/images/edits", EndpointCost::kPrompt, true, true, kPictureTokens};
    case Endpoint::kRealtime:
      return {"realtime", "/v1/realtime", EndpointCost::kPrompt, true};
    case Endpoint::kStoredResponse:
      return {"stored_response", "/v1/responses", EndpointCost::kNone, true};
    case Endpoint::kRoute:
      return {"route", "", EndpointCost::kPrompt, true};
    case Endpoint::kFreeRoute:
      return {"free_route", "", EndpointCost::kNone, true};
  }
  return {};
}

// The answer grows token by token, and can be a stream.
constexpr bool Generates(Endpoint endpoint) { return TraitsOf(endpoint).cost == EndpointCost::kOutput; }
// Its stream has chunks of OpenAI's form and ends with [DONE].
constexpr bool StreamsChunks(Endpoint endpoint) {
  return endpoint == Endpoint::kChat || endpoint == Endpoint::kCompletions;
}
// The text of its stream, cut in the middle, can go on by a longer prompt.
constexpr bool StreamsText(Endpoint endpoint) { return StreamsChunks(endpoint) || endpoint == Endpoint::kMessages; }
// No engine memory is needed, so nothing is to wait for.
constexpr bool IsFree(Endpoint endpoint) { return TraitsOf(endpoint).cost == EndpointCost::kNone; }

// A path of the configuration, which any engine may have.
constexpr bool IsRoute(Endpoint endpoint) { return endpoint == Endpoint::kRoute || endpoint == Endpoint::kFreeRoute; }
// The engine's front end answers at once, or it hangs.
constexpr bool IsQuick(Endpoint endpoint) { return IsFree(endpoint) && !IsRoute(endpoint); }
// The first characters of whole answers there that are no objects. Some engine's is a JSON list: SGLang's rankings,
// those of llama-server for `texts`, bare tokens. The text of tokens may be a bare string.
constexpr absl::string_view BareAnswers(Endpoint endpoint) {
  if (endpoint == Endpoint::kDetokenize) return "[\"";
  const bool lists = endpoint == Endpoint::kRerank || endpoint == Endpoint::kScore || endpoint == Endpoint::kPooling ||
                     endpoint == Endpoint::kClassify || endpoint == Endpoint::kTokenize;
  return lists ? "[" : "";
}
constexpr bool PassesAnswer(Endpoint endpoint) { return TraitsOf(endpoint).passed; }

// A set of endpoints.
class EndpointSet {
 public:
  constexpr EndpointSet(std::initializer_list<Endpoint> endpoints) {
    for (Endpoint endpoint : endpoints) bits_ |= BitOf(endpoint);
  }
  static constexpr EndpointSet All() {
    EndpointSet all{};
    all.bits_ = (uint32_t{1} << kEndpointCount) - 1;
    return all;
  }
  constexpr bool Has(Endpoint endpoint) const { return (bits_ & BitOf(endpoint)) != 0; }
  constexpr EndpointSet& operator|=(EndpointSet other) {
    bits_ |= other.bits_;
    return *this;
  }
  bool operator==(const EndpointSet&) const = default;

 private:
  static constexpr uint32_t BitOf(Endpoint endpoint) { return uint32_t{1} << static_cast<int>(endpoint); }
  uint32_t bits_ = 0;
};

// One field that an engine reads at one endpoint.
struct OutputLimit {
  absl::string_view field;
  Endpoint endpoint = Endpoint::kChat;
  int64_t least = 1;
  std::optional<int64_t> unlimited = std::nullopt;  // The value that means no limit.

  bool Is(absl::string_view name, Endpoint at) const { return endpoint == at && field == name; }
};

// The rows of one engine.
using OutputLimits = absl::Span<const OutputLimit>;

// The row of a field, or null.
inline const OutputLimit* FindLimit(OutputLimits limits, absl::string_view field, Endpoint endpoint) {
  for (const OutputLimit& limit : limits) {
    if (limit.Is(field, endpoint)) return &limit;
  }
  return nullptr;
}

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_DIALECT_ENDPOINT_H_
