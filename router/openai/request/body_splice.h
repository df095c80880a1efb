// Changes single fields of a request body without copying or reordering the rest.
//
// A SplicedBody is the client's bytes cut into pieces with replacements in between. Pieces are views into the client's
// body and into strings that the SplicedBody owns. So it may be moved, but the client's body has to outlive it. Pure.
#ifndef PENSTOCK_ROUTER_OPENAI_REQUEST_BODY_SPLICE_H_
#define PENSTOCK_ROUTER_OPENAI_REQUEST_BODY_SPLICE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "router/openai/request/request_scan.h"

namespace penstock {

// The differences between the upstream body and the client's.
struct SpliceOrder {
  std::string engine_model;   // Empty: keep.
  bool force_stream = false;  // stream: true although the client did not ask for it.
  bool ask_usage = false;     // stream_options.include_usage: true.
  std::string response_id;    // request_id: the id under which the engine keeps the answer. Empty: keep.
  // Continues an answer that was cut: text that the client already has, as the inside of a JSON string. Outlives this.
  std::optional<absl::string_view> continue_from;
  Tokens already_generated{0};  // Taken off every limit of the output.
  // The engine computes the prompt only: one token of output, no stream.
  bool prompt_only = false;
  // kv_transfer_params: its value, instead of the client's. Empty: keep. Outlives this.
  absl::string_view handover;
};

class SplicedBody {
 public:
  SplicedBody(absl::string_view body, Endpoint endpoint, const RequestFacts& facts, const SpliceOrder& order);
  SplicedBody(SplicedBody&&) = default;
  SplicedBody& operator=(SplicedBody&&) = default;

  const std::vector<absl::string_view>& pieces() const { return pieces_; }
  std::string Joined() const;

 private:
  struct Edit {
    JsonSpan at;  // Replaced bytes; empty: an insertion.
    std::string text;
  };
  void Replace(JsonSpan at, std::string text);
  void InsertField(absl::string_view field);
  void SpliceStream(const RequestFacts& facts, const SpliceOrder& order);
  void SpliceHandover(const RequestFacts& facts, const SpliceOrder& order);
  void SplicePromptOnly(const RequestFacts& facts);
  void SpliceContinuation(Endpoint endpoint, const RequestFacts& facts, const SpliceOrder& order);
  void Cut(absl::string_view body);

  std::vector<Edit> edits_;
  std::string new_fields_;          // Appended before the closing brace, each with its leading comma.
  std::vector<std::string> owned_;  // Addresses stay when it moves.
  std::vector<absl::string_view> pieces_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_OPENAI_REQUEST_BODY_SPLICE_H_
