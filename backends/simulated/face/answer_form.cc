#include "backends/simulated/face/answer_form.h"

#include <string_view>

#include "backends/simulated/machine/mix.h"
#include "backends/simulated/machine/tokenizer.h"
#include "backends/simulated/schema/schema_document.h"

namespace penstock::simulated {
namespace {

using nlohmann::json;

constexpr int kMostCallsInARow = 8;

// The function in {"function": {"name": ...}}, or null.
const json* FunctionOf(const json& tool) {
  if (!tool.is_object()) return nullptr;
  const auto function = tool.find("function");
  if (function == tool.end() || !function->is_object()) return nullptr;
  const auto name = function->find("name");
  return name != function->end() && name->is_string() && !name->get_ref<const std::string&>().empty() ? &*function
                                                                                                      : nullptr;
}

std::string NameOf(const json& function) { return function["name"].get<std::string>(); }

// A tool without parameters takes any text; its arguments have no schema here.
std::optional<json> ParametersOf(const json& function) {
  for (const char* field : {"parameters", "input_schema"}) {
    const auto found = function.find(field);
    if (found == function.end() || !found->is_object()) continue;
    if (found->contains("properties") && (*found)["properties"].is_object() && !(*found)["properties"].empty()) {
      return *found;
    }
  }
  return std::nullopt;
}

std::vector<const json*> FunctionsIn(const BodyReader& body) {
  std::vector<const json*> functions;
  const json* tools = body.Find("tools");
  if (tools == nullptr || !tools->is_array()) return functions;
  for (const json& tool : *tools) {
    if (const json* function = FunctionOf(tool)) functions.push_back(function);
  }
  return functions;
}

// Results of tools since the last words of the user.
int ResultsInARow(const BodyReader& body) {
  const json* messages = body.Find("messages");
  int results = 0;
  if (messages == nullptr || !messages->is_array()) return results;
  for (auto message = messages->rbegin(); message != messages->rend() && message->is_object(); ++message) {
    const json role = message->value("role", json());
    if (role == "user") break;
    if (role == "tool") ++results;
  }
  return results;
}

bool CallsOfItself(const BodyReader& body, uint64_t bits) {
  const int results = ResultsInARow(body);
  return results < kMostCallsInARow && Uniform(bits) < (results == 0 ? 0.75 : 0.5);
}

// The function that `choice` asks for, or null.
const json* ChosenFunction(const json& choice, const std::vector<const json*>& functions) {
  if (choice == "required") return functions.empty() ? nullptr : functions.front();
  const json* named = FunctionOf(choice);
  if (named == nullptr) return nullptr;
  for (const json* function : functions) {
    if (NameOf(*function) == NameOf(*named)) return function;
  }
  return named;
}

const json* ReadTool(BodyReader& body, bool free_choice, uint64_t bits) {
  const std::vector<const json*> functions = FunctionsIn(body);
  const json* choice = body.Find("tool_choice");
  if (choice == nullptr || *choice == "auto") {
    const bool calls = free_choice && !functions.empty() && CallsOfItself(body, bits);
    return calls ? functions[Mix(bits) % functions.size()] : nullptr;
  }
  if (*choice != "required" && !choice->is_object()) return nullptr;
  const json* function = ChosenFunction(*choice, functions);
  if (function == nullptr) {
    body.FailField("tool_choice", "tool_choice asks for a tool, but names no function of `tools`.");
  }
  return function;
}

std::optional<json> ReadFormat(BodyReader& body) {
  const json* format = body.Find("response_format");
  if (format == nullptr) return std::nullopt;
  const json type = format->is_object() ? format->value("type", json()) : json();
  if (type == "text") return std::nullopt;
  if (type == "json_object") {
    const json any = {{"type", "object"}, {"properties", {{"answer", true}}}, {"required", {"answer"}}};
    return format->value("schema", any);  // llama-server takes a schema here.
  }
  if (type == "json_schema" && format->value("json_schema", json()).is_object()) {
    const json& named = (*format)["json_schema"];
    if (named.contains("schema")) return named["schema"];
  }
  body.FailField("response_format", "response_format: Input should be text, json_object, or json_schema with a schema",
                 "Bad Request");
  return std::nullopt;
}

}  // namespace

AnswerForm ReadAnswerForm(BodyReader& body, bool free_choice, uint64_t seed, Conversation conversation) {
  AnswerForm form;
  if (const json* function = ReadTool(body, free_choice, Mix(seed, Mix(conversation, 0x746f6f6c)))) {
    form.tool = NameOf(*function);
    form.schema = ParametersOf(*function);
  } else {
    form.schema = ReadFormat(body);
  }
  return form;
}

DocumentPieces WriteDocument(BodyReader& body, const AnswerForm& form, uint64_t seed, Conversation conversation) {
  if (!form.schema) return nullptr;
  const SchemaDocument document = WriteSchemaDocument(*form.schema, Mix(seed, conversation));
  if (!document.value) {
    body.FailField(form.tool ? "tools" : "response_format", "Invalid JSON schema: " + document.fault);
    return nullptr;
  }
  const std::string text = document.value->dump(-1, ' ', false, json::error_handler_t::replace);
  auto pieces = std::make_shared<std::vector<std::string>>();
  for (std::string_view rest = text; !rest.empty(); rest.remove_prefix(pieces->back().size())) {
    pieces->emplace_back(NextPiece(rest));
  }
  return pieces;
}

}  // namespace penstock::simulated
