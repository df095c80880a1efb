// A request in Ollama's own dialect as one for /v1/chat/completions, or for /v1/completions where it is raw.
//
// Plan() plans the body as bytes of its own and spans of the client's body, and Advance() copies them. Both go on in
// slices, so neither long pictures nor many tool calls hold a loop. Tool calls get ids, which Ollama's dialect lacks:
// the answers of tools take them in order. Pure; the client's body and its fields outlive it.
#ifndef PENSTOCK_ROUTER_OLLAMA_REQUEST_BUILDER_H_
#define PENSTOCK_ROUTER_OLLAMA_REQUEST_BUILDER_H_

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "router/ollama/request_fields.h"
#include "router/openai/error/api_error.h"

namespace penstock::ollama {

enum class Call : uint8_t { kChat, kGenerate };

class RequestBuilder {
 public:
  static constexpr size_t kSlice = 256 << 10;
  // The tool calls of all messages have at most so many bytes: they are translated one by one.
  static constexpr size_t kMostCalls = 8 << 20;

  RequestBuilder(Call call, const RequestFields& fields) : call_(call), fields_(fields) {}

  // The name of the model in the request, as far as it is known without an error.
  std::optional<ApiError> ReadModel(std::string* model) const;
  // Begins the body, for this model. An error is the answer to the request.
  std::optional<ApiError> Begin(absl::string_view model);
  // Plans the next slice of the body: call it until planned(). An error is the answer to the request.
  std::optional<ApiError> Plan();
  bool planned() const { return planned_; }

  // After Begin().
  bool stream() const { return stream_; }
  // The request has no message and no prompt: Ollama's clients ask so that a model is loaded.
  bool empty() const { return empty_; }
  // The new request goes to /v1/completions.
  bool raw() const { return raw_; }
  // The bytes that are planned.
  size_t size() const { return size_; }
  // Once it is planned: appends the next bytes. False: call it again.
  bool Advance(std::string& out);

 private:
  // Bytes of its own, then bytes of the client's.
  struct Segment {
    std::string own;
    JsonSpan span;
  };
  using MaybeError = std::optional<ApiError>;

  void Add(absl::string_view text);
  void Add(JsonSpan span);
  MaybeError ReadFlags();
  MaybeError AddTools();
  MaybeError AddRest();
  MaybeError AddGenerate();
  MaybeError AddMessage(const Message& message, size_t position);
  void AddContent(JsonSpan content, const std::vector<JsonSpan>& images);
  MaybeError AddToolCalls(JsonSpan calls, absl::string_view place);
  MaybeError AddFormat();
  MaybeError AddThink();

  const Call call_;
  const RequestFields& fields_;
  std::vector<Segment> segments_;
  std::deque<int> unanswered_;  // Ids of tool calls.
  int next_id_ = 0;
  size_t calls_bytes_ = 0;  // Those of the tool calls so far.
  size_t message_ = 0;      // The next to plan.
  bool planned_ = false;
  bool stream_ = true;
  bool raw_ = false;
  bool empty_ = false;
  size_t size_ = 0;
  size_t segment_ = 0;  // The next to copy.
  size_t copied_ = 0;   // The bytes of it that are copied.
};

}  // namespace penstock::ollama

#endif  // PENSTOCK_ROUTER_OLLAMA_REQUEST_BUILDER_H_
