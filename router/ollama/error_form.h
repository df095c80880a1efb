// Errors as clients of Ollama's dialect understand them: {"error": TEXT}. Pure.
#ifndef PENSTOCK_ROUTER_OLLAMA_ERROR_FORM_H_
#define PENSTOCK_ROUTER_OLLAMA_ERROR_FORM_H_

#include <string>

#include "router/openai/error/api_error.h"

namespace penstock {

std::string OllamaErrorBody(const ApiError& error);

// The part of docs/errors.md about this form.
std::string OllamaErrorReference();

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_OLLAMA_ERROR_FORM_H_
