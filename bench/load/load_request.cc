#include "bench/load/load_request.h"

#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace penstock::bench {
namespace {

// The tenant's name as a bearer key: one word of visible ASCII.
std::string KeyOf(const std::string& tenant) {
  std::string key = tenant;
  for (char& c : key) {
    if (!absl::ascii_isgraph(static_cast<unsigned char>(c))) c = '_';
  }
  return key;
}

}  // namespace

const std::string& RequestWriter::ModelOf(const TraceRequest& request) const {
  if (!options_.model.empty()) return options_.model;
  const auto found = options_.models.find(request.model);
  return found == options_.models.end() ? request.model : found->second;
}

RequestWriter::Written RequestWriter::Write(const TraceRequest& request, size_t index, const LoadTarget& target) const {
  PromptWriter::Prompt prompt = prompts_.Write(request, index);
  Written written;
  written.words = prompt.words;
  const std::string model =
      nlohmann::json(ModelOf(request)).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  const int64_t limit = request.max_output.value();
  const std::string limited = limit > 0 ? absl::StrCat(R"(,"max_tokens":)", limit) : "";
  const std::string body =
      absl::StrCat(R"({"model":)", model, R"(,"messages":[{"role":"user","content":")", prompt.text, R"("}])", limited,
                   R"(,"stream":true,"stream_options":{"include_usage":true}})");
  std::string& text = written.text;
  text = absl::StrCat("POST ", target.api, "/chat/completions HTTP/1.1\r\nHost: ", target.Authority(),
                      "\r\nContent-Type: application/json\r\nAccept: text/event-stream\r\n",
                      "x-simulated-output-tokens: ", request.output.value(), "\r\n");
  bool has_key = false;
  for (const auto& [name, value] : target.headers) {
    absl::StrAppend(&text, name, ": ", value, "\r\n");
    has_key = has_key || absl::EqualsIgnoreCase(name, "authorization");
  }
  if (!request.tenant.empty() && !has_key)
    absl::StrAppend(&text, "Authorization: Bearer ", KeyOf(request.tenant), "\r\n");
  const std::string& service_class = ClassOf(request);
  if (!service_class.empty()) absl::StrAppend(&text, "x-penstock-class: ", service_class, "\r\n");
  if (!options_.name_replicas) absl::StrAppend(&text, "x-penstock-receipt: 1\r\n");
  absl::StrAppend(&text, "Content-Length: ", body.size(), "\r\n\r\n", body);
  return written;
}

}  // namespace penstock::bench
