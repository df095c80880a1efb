// Reads what the router needs from a request body, and refuses what no engine should see.
//
// One pass checks grammar and depth and finds the fields that the router reads. It stores their values and the text of
// the prompt by script. It also stores their byte offsets, so that bodies pass byte for byte but for spliced fields.
// The library simdjson checks UTF-8. Unknown fields are checked for their grammar only. A field that the router reads
// and that occurs twice is an error. Else an engine that takes the other one would let clients bypass limits. The pass
// goes on in slices: a long body does not hold its loop. Pure; no memory but for the facts.
#ifndef PENSTOCK_ROUTER_OPENAI_REQUEST_REQUEST_SCAN_H_
#define PENSTOCK_ROUTER_OPENAI_REQUEST_REQUEST_SCAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "absl/container/inlined_vector.h"
#include "backends/dialect/endpoint.h"
#include "base/boxed.h"
#include "base/units.h"
#include "kvmodel/prompt/prompt_estimate.h"
#include "router/openai/error/api_error.h"
#include "router/openai/request/json_cursor.h"
#include "router/openai/request/json_walk.h"
#include "router/openai/request/limit_rules.h"
#include "router/openai/request/request_fields.h"

namespace penstock {

inline constexpr int64_t kMaxOutputLimit = int64_t{1} << 31;  // max_tokens above this is absurd.
inline constexpr int64_t kMaxSequences = 128;                 // n
inline constexpr int64_t kMaxPrompts = 2048;                  // Elements of a prompt or input list.

struct RequestFacts {
  std::string model;
  bool stream = false;
  bool asks_usage = false;  // stream_options.include_usage
  // The router gathers the stream of the engine: `stream` and `asks_usage` are set although the body has neither.
  bool stream_inside = false;
  GivenLimits limits;
  GivenLimits null_limits;  // Those that stand there as null: they do not count.
  Tokens max_output{0};     // The limit that counts with the engines of the model (MostOutput); 0: none.
  int64_t n = 1;
  int64_t prompts = 1;  // Elements of a prompt array or an embedding list.
  std::string service_tier;
  TextCounts text;                   // The text of all prompts together.
  Boxed<TextCounts> largest_prompt;  // The text of the largest element; empty: it equals `text`.
  Boxed<MediaCounts> media;          // Pictures, sounds and tensors of a prompt; empty: it has none.

  // The places of fields; unset when absent.
  std::optional<JsonSpan> model_at;
  std::optional<JsonSpan> stream_at;
  std::optional<JsonSpan> stream_options_at;       // An object or null.
  bool stream_options_empty = true;                // Null, or without members.
  std::optional<JsonSpan> include_usage_at;        // Its value, within stream_options.
  std::optional<JsonSpan> prompt_at;               // messages, prompt, input or query.
  absl::InlinedVector<JsonSpan, 2> before_prompt;  // The fields that an engine puts before it.

  std::optional<JsonSpan> min_tokens_at;  // The least length of the answer.
  std::optional<JsonSpan> handover_at;    // kv_transfer_params

  // Facts that make an answer impossible to continue or to reassemble.
  bool has_tools = false;
  bool has_logprobs = false;  // Log probabilities, or tokens by number: a list of all that the engine made.
  bool has_prompt_logprobs = false;
  bool has_structure = false;        // A format, grammar or least length that binds the answer as a whole.
  bool has_own_template = false;     // Says itself how the chat template is to end.
  bool prompt_is_text = false;       // Chat messages, or one prompt string.
  bool ends_with_assistant = false;  // Chat: the client itself asks for a continuation.
  bool echo = false;
  uint64_t shape = 0;   // ShapeHash.
  std::string session;  // SessionName.
  bool seeded = false;  // It wants its own random numbers; a continuation would begin them again.

  // Facts of forms and of configured routes.
  bool in_form = false;                     // The body is a form: its values have no quotes.
  std::optional<JsonSpan> target_model_at;  // The model is a parameter of the target.
  std::optional<Tokens> fixed_prompt;       // Taken for the prompt, whatever the body says.

  // Facts of responses.
  bool has_effects = false;         // The engine stores the answer, or runs tools: a second run is seen.
  bool stored = false;              // The engine is to keep the answer.
  bool background = false;          // The engine is to answer before it has worked.
  bool continues_response = false;  // It goes on with an answer that one engine has stored.
  std::string previous_response;    // The id of that answer; empty: the body names a conversation.
  std::optional<JsonSpan> request_id_at;

  bool operator==(const RequestFacts&) const = default;
  const TextCounts& LargestPrompt() const { return largest_prompt ? *largest_prompt : text; }
  // The answer's text can be cut and continued by a longer prompt without the client seeing it.
  bool Continuable(Endpoint endpoint) const;
  // One engine may compute the prompt, and another one may answer.
  bool Divisible(Endpoint endpoint) const;
  // The answer can be rebuilt exactly from its stream.
  bool Reassemblable(Endpoint endpoint) const;
};

// A body up to this size is read at once.
inline constexpr size_t kScanSlice = 64 << 10;

class RequestScan {
 public:
  // `limits` are the rows of all engines. The body and they outlive the scan.
  RequestScan(Endpoint endpoint, absl::string_view body, OutputLimits limits)
      : endpoint_(endpoint), body_(body), walk_(body), fields_(endpoint, body, limits) {}

  // Reads on over about `bytes` bytes, at most a millisecond for kScanSlice. False: call it again.
  bool Advance(size_t bytes = kScanSlice);
  // The result, once Advance returned true.
  std::variant<RequestFacts, ApiError> Take();

 private:
  bool Fail(absl::string_view message);
  bool CheckEncoding();

  const Endpoint endpoint_;
  const absl::string_view body_;
  JsonWalk walk_;
  RequestFields fields_;
  size_t checked_ = 0;  // Bytes that are UTF-8.
  std::optional<ApiError> error_;
};

// The whole scan at once.
std::variant<RequestFacts, ApiError> ScanRequest(Endpoint endpoint, absl::string_view body, OutputLimits limits);

// A field with a value of the wrong type.
ApiError WrongType(absl::string_view field, absl::string_view expected);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_OPENAI_REQUEST_REQUEST_SCAN_H_
