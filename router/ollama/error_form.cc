#include "router/ollama/error_form.h"

#include "absl/strings/str_cat.h"

namespace penstock {

std::string OllamaErrorBody(const ApiError& error) {
  return absl::StrCat("{\"error\":", JsonQuote(error.message), "}");
}

std::string OllamaErrorReference() {
  return R"(
## In Ollama's form

Paths below `/api/` answer every row above as `{"error": MESSAGE}`, with the same status and headers. In mid-stream, a line of
that form ends the answer.
)";
}

}  // namespace penstock
