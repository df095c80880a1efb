#include "router/openai/request/prompt_fields.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "router/openai/request/request_scan.h"

namespace penstock {
namespace {

using Field = RequestField;
using Shape = PromptScan::Shape;
using MaybeError = std::optional<ApiError>;

// The first row of an endpoint names the field that a body without any of them lacks.
constexpr PromptRow kRows[] = {
    {Endpoint::kChat, Field::kMessages, Shape::kMessages},
    {Endpoint::kCompletions, Field::kPrompt, Shape::kPrompt},
    {Endpoint::kEmbeddings, Field::kInput, Shape::kPrompt},
    {Endpoint::kEmbeddings, Field::kMessages, Shape::kMessages},
    {Endpoint::kResponses, Field::kInput, Shape::kItems},
    {Endpoint::kResponses, Field::kInstructions, Shape::kTexts, true},
    {Endpoint::kRerank, Field::kDocuments, Shape::kDocuments},
    {Endpoint::kRerank, Field::kTexts, Shape::kDocuments},
    {Endpoint::kRerank, Field::kQuery, Shape::kTexts, true},
    // vLLM has three pairs of names, SGLang a fourth.
    {Endpoint::kScore, Field::kText2, Shape::kTexts},
    {Endpoint::kScore, Field::kDocuments, Shape::kTexts},
    {Endpoint::kScore, Field::kData2, Shape::kTexts},
    {Endpoint::kScore, Field::kItems, Shape::kPrompt},
    {Endpoint::kScore, Field::kText1, Shape::kTexts, true},
    {Endpoint::kScore, Field::kQueries, Shape::kTexts, true},
    {Endpoint::kScore, Field::kData1, Shape::kTexts, true},
    {Endpoint::kScore, Field::kQuery, Shape::kPrompt, true},
    {Endpoint::kPooling, Field::kInput, Shape::kPrompt},
    {Endpoint::kPooling, Field::kMessages, Shape::kMessages},
    {Endpoint::kPooling, Field::kData, Shape::kOpaque},
    {Endpoint::kClassify, Field::kInput, Shape::kPrompt},
    {Endpoint::kClassify, Field::kMessages, Shape::kMessages},
    {Endpoint::kModerations, Field::kInput, Shape::kTexts},
    {Endpoint::kSpeech, Field::kInput, Shape::kTexts},
    {Endpoint::kImages, Field::kPrompt, Shape::kTexts},
    {Endpoint::kMessages, Field::kMessages, Shape::kTurns},
    {Endpoint::kMessages, Field::kSystem, Shape::kBlocks, true},
    {Endpoint::kCountTokens, Field::kMessages, Shape::kTurns},
    {Endpoint::kCountTokens, Field::kSystem, Shape::kBlocks, true},
};

absl::string_view FirstField(Endpoint endpoint, bool beside) {
  for (const PromptRow& row : kRows) {
    if (row.endpoint == endpoint && row.beside == beside) return NameOf(row.field);
  }
  return "prompt";
}

// The field that has the part; an error where there is none, or a second one that an engine could read instead.
MaybeError CheckPart(Endpoint endpoint, const RequestFields& fields, const RequestFields::Part& part, bool beside) {
  if (part.field == Field::kNone || fields.Find(part.field) == nullptr) {
    return MissingField(FirstField(endpoint, beside));
  }
  if (part.second == Field::kNone) return std::nullopt;
  return MakeError(ErrorName::kInvalidValue,
                   absl::StrCat("Give only one of `", NameOf(part.field), "` and `", NameOf(part.second), "`."),
                   NameOf(part.second));
}

// `instructions` of responses stand before the items.
MaybeError AddInstructions(const RequestFields& fields, RequestFacts& facts) {
  const JsonValue* instructions = fields.Find(Field::kInstructions);
  if (instructions == nullptr) return std::nullopt;
  if (instructions->kind() != JsonKind::kString) return WrongType("instructions", "a string");
  facts.text += fields.beside().scan.text().text;
  facts.largest_prompt.reset();
  return std::nullopt;
}

ApiError WrongTensor() { return WrongType("prompt_embeds", "a string in base64, or a list of such strings"); }

// Prompts as tensors (vLLM): each is a prompt of its own, beside those of `prompt` with their media. Nothing of them
// can be continued. A list of tensors may be as long as the body: the walk counted it.
MaybeError AddTensors(const RequestFields& fields, RequestFacts& facts) {
  const JsonValue& tensors = *fields.Find(Field::kPromptEmbeds);
  int64_t count = 0;
  MediaCounts media = facts.media ? *facts.media : MediaCounts();
  if (tensors.kind() == JsonKind::kString) {
    count = 1;
    media.embedded += BytesOfBase64(tensors.raw());
  } else if (tensors.kind() == JsonKind::kArray && !fields.tensors().wrong) {
    count = fields.tensors().elements;
    media.embedded += fields.tensors().bytes;
  } else {
    return WrongTensor();
  }
  if (count > kMaxPrompts) {
    return MakeError(ErrorName::kTooManyElements,
                     absl::StrCat("`prompt_embeds` has more than ", kMaxPrompts, " elements."), "prompt_embeds");
  }
  if (count == 0) return facts.prompt_at ? std::nullopt : MaybeError(MissingField("prompt"));
  // An empty text is none: clients that must send `prompt` send that.
  facts.prompts = count + (facts.text == TextCounts() ? 0 : facts.prompts);
  facts.prompt_is_text = false;
  facts.media = media;
  return std::nullopt;
}

// A prompt that the engine has stored, with the values of its variables. False: there is none. Pictures and files are
// long in bytes and not in tokens, so they count as a file.
bool AddStored(const RequestFields& fields, RequestFacts& facts) {
  constexpr size_t kLongestText = 256 << 10;
  const JsonValue* prompt = fields.Find(Field::kPrompt);
  if (prompt == nullptr || prompt->kind() != JsonKind::kObject) return false;
  facts.has_effects = true;  // It may bring tools.
  const bool text = prompt->span.size() <= kLongestText && !absl::StrContains(prompt->raw(), "\"input_image\"") &&
                    !absl::StrContains(prompt->raw(), "\"input_file\"");
  if (text) {
    facts.text.tool_bytes += static_cast<int64_t>(prompt->span.size());
    return true;
  }
  if (!facts.media) facts.media = MediaCounts();
  ++facts.media->opaque;
  return true;
}

// `system` and the tools stand before the messages.
MaybeError AddSystem(const RequestFields& fields, RequestFacts& facts) {
  for (const Field field : {Field::kTools, Field::kSystem}) {
    if (fields.Find(field) != nullptr) facts.before_prompt.push_back(*fields.Span(field));
  }
  if (fields.Find(Field::kSystem) == nullptr) return std::nullopt;
  const PromptScan& system = fields.beside().scan;
  if (system.error()) return system.error();
  facts.text += system.text().text;
  facts.largest_prompt.reset();
  if (!system.text().media.Any()) return std::nullopt;
  if (!facts.media) facts.media = MediaCounts();
  facts.media->Add(system.text().media);
  return std::nullopt;
}

// Each document is read beside the whole query of a reranking. As many first texts as second ones make pairs.
MaybeError AddQuery(Endpoint endpoint, RequestFields& fields) {
  const RequestFields::Part& beside = fields.beside();
  if (beside.scan.error()) return beside.scan.error();
  const PromptText& query = beside.scan.text();
  if (query.prompts == 1 || endpoint == Endpoint::kRerank) {
    fields.prompt().scan.AddToEach(query);
  } else {
    fields.prompt().scan.AddPairs(query);
  }
  return std::nullopt;
}

}  // namespace

const PromptRow* FindPromptRow(Endpoint endpoint, RequestField field) {
  for (const PromptRow& row : kRows) {
    if (row.field == field && row.endpoint == endpoint) return &row;
  }
  return nullptr;
}

ApiError MissingField(absl::string_view field) {
  return MakeError(ErrorName::kMissingField, absl::StrCat("You must provide `", field, "`."), field);
}

MaybeError ReadPrompt(Endpoint endpoint, RequestFields& fields, RequestFacts& facts) {
  const bool counts = endpoint == Endpoint::kCountTokens;
  if (IsFree(endpoint) && !counts) return std::nullopt;
  const bool pairs = endpoint == Endpoint::kRerank || endpoint == Endpoint::kScore;
  if (pairs) {
    if (MaybeError error = CheckPart(endpoint, fields, fields.beside(), true)) return error;
  }
  const bool tensors = endpoint == Endpoint::kCompletions && fields.Find(Field::kPromptEmbeds) != nullptr;
  if (tensors && fields.Find(Field::kPrompt) == nullptr) return AddTensors(fields, facts);
  const bool response = endpoint == Endpoint::kResponses;
  if (response && fields.Find(Field::kInput) == nullptr && AddStored(fields, facts)) {
    return AddInstructions(fields, facts);
  }
  if (MaybeError error = CheckPart(endpoint, fields, fields.prompt(), false)) return error;
  if (pairs) {
    if (MaybeError error = AddQuery(endpoint, fields)) return error;
  }
  const PromptScan& scan = fields.prompt().scan;
  if (scan.error()) return scan.error();
  const PromptText& text = scan.text();
  facts.text = text.text;
  if (text.largest != text.text) facts.largest_prompt = text.largest;
  if (text.media.Any()) facts.media = text.media;
  facts.prompts = text.prompts;
  facts.prompt_is_text = text.is_text;
  facts.ends_with_assistant = text.ends_with_assistant;
  facts.prompt_at = fields.Span(fields.prompt().field);
  if (tensors) return AddTensors(fields, facts);
  if (endpoint == Endpoint::kMessages || counts) return AddSystem(fields, facts);
  if (response) AddStored(fields, facts);
  return response ? AddInstructions(fields, facts) : std::nullopt;
}

}  // namespace penstock
