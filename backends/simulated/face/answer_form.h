// The form of an answer: words, a JSON document, or the call of a tool.
//
// Pure. A document and the arguments of a tool satisfy the schema of the client.
#ifndef PENSTOCK_BACKENDS_SIMULATED_FACE_ANSWER_FORM_H_
#define PENSTOCK_BACKENDS_SIMULATED_FACE_ANSWER_FORM_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "backends/simulated/face/body_reader.h"
#include "backends/simulated/face/choice_plan.h"
#include "backends/simulated/machine/text.h"

namespace penstock::simulated {

struct AnswerForm {
  std::optional<std::string> tool;       // The function that the answer calls.
  std::optional<nlohmann::json> schema;  // The document or the arguments satisfy it. None: words.
};

// Reads response_format, tools and tool_choice of a chat. Errors stay in the reader.
//
// `free_choice`: without a tool_choice the model decides by itself. It calls a tool in three of four answers to a user,
// and in half of the answers to the result of a tool. Otherwise such an answer is text.
AnswerForm ReadAnswerForm(BodyReader& body, bool free_choice, uint64_t seed, Conversation conversation);

// Null for words. A schema without a document is an error of the reader.
DocumentPieces WriteDocument(BodyReader& body, const AnswerForm& form, uint64_t seed, Conversation conversation);

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_FACE_ANSWER_FORM_H_
