// The fields of a body that hold the prompt, by endpoint. Pure.
#ifndef PENSTOCK_ROUTER_OPENAI_REQUEST_PROMPT_FIELDS_H_
#define PENSTOCK_ROUTER_OPENAI_REQUEST_PROMPT_FIELDS_H_

#include <optional>

#include "backends/dialect/endpoint.h"
#include "router/openai/error/api_error.h"
#include "router/openai/request/prompt_text.h"
#include "router/openai/request/request_fields.h"
#include "router/openai/request/request_scan.h"

namespace penstock {

// A field for prompts. A body has one of the rows of its endpoint that are alike in `beside`.
struct PromptRow {
  Endpoint endpoint;
  RequestField field;
  PromptScan::Shape shape;
  bool beside = false;  // The text stands beside each prompt.
};

// Null: the field is no part of a prompt of this endpoint.
const PromptRow* FindPromptRow(Endpoint endpoint, RequestField field);

// The text of the prompt, in `facts`. An error: it is missing or of a wrong type.
std::optional<ApiError> ReadPrompt(Endpoint endpoint, RequestFields& fields, RequestFacts& facts);

// A field that the endpoint must have.
ApiError MissingField(absl::string_view field);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_OPENAI_REQUEST_PROMPT_FIELDS_H_
