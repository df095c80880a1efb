#include "backends/simulated/face/body_reader.h"

#include <cmath>
#include <limits>
#include <utility>

namespace penstock::simulated {
namespace {

constexpr int kMostNested = 200;

// A walk through a deeply nested document would exhaust the stack. No client nests this deeply.
bool NestsTooDeeply(std::string_view body) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < body.size(); ++i) {
    const char c = body[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if ((c == '{' || c == '[') && ++depth > kMostNested) return true;
    if (c == '}' || c == ']') --depth;
  }
  return false;
}

// Saturates. Null for a number with a fraction, unless `cut` drops fractions.
std::optional<int64_t> AsWhole(const nlohmann::json& value, bool cut) {
  constexpr auto kMost = std::numeric_limits<int64_t>::max();
  if (value.is_number_unsigned()) {
    const auto number = value.get<uint64_t>();
    return number > static_cast<uint64_t>(kMost) ? kMost : static_cast<int64_t>(number);
  }
  if (value.is_number_integer()) return value.get<int64_t>();
  const double number = value.get<double>();
  if (!cut && number != std::floor(number)) return std::nullopt;
  if (number >= 9.2e18) return kMost;
  if (number <= -9.2e18) return -kMost;
  return static_cast<int64_t>(number);
}

}  // namespace

BodyReader::BodyReader(std::string_view body, bool llama) : llama_(llama) {
  const int status = llama ? 500 : 400;
  const char* type = llama ? "server_error" : "Bad Request";
  if (NestsTooDeeply(body)) {
    Fail({status, "The JSON body is nested too deeply", type, "", {}});
    return;
  }
  try {
    json_ = nlohmann::json::parse(body.begin(), body.end());
  } catch (const nlohmann::json::exception& problem) {
    Fail({status, llama ? problem.what() : std::string("JSON decode error: ") + problem.what(), type, "", {}});
    return;
  }
  if (!json_.is_object()) Fail({status, "The body must be a JSON object", type, "", {}});
}

void BodyReader::Fail(ApiError error) {
  if (!error_) error_ = std::move(error);
}

void BodyReader::FailField(const std::string& field, const std::string& message, const std::string& type) {
  Fail({400, message, llama_ ? "invalid_request_error" : type, field, {}});
}

const nlohmann::json* BodyReader::Find(const char* field) const {
  const auto found = json_.find(field);
  return found == json_.end() || found->is_null() ? nullptr : &*found;
}

bool BodyReader::Bool(const char* field) {
  const nlohmann::json* value = Find(field);
  if (value == nullptr) return false;
  if (value->is_boolean()) return value->get<bool>();
  FailField(field, std::string(field) + ": Input should be a valid boolean", "Bad Request");
  return false;
}

std::optional<int64_t> BodyReader::Whole(const char* field, int64_t low, int64_t high) {
  const nlohmann::json* value = Find(field);
  if (value == nullptr) return std::nullopt;
  const auto number = value->is_number() ? AsWhole(*value, llama_) : std::nullopt;
  if (!number) {
    FailField(field, std::string(field) + ": Input should be a valid integer", "Bad Request");
    return std::nullopt;
  }
  if (*number < low) {
    FailField(field, std::string(field) + " must be at least " + std::to_string(low) + ", got " +
                         std::to_string(*number) + ".");
  }
  if (*number > high) {
    FailField(field, std::string(field) + " must be at most " + std::to_string(high) + ", got " +
                         std::to_string(*number) + ".");
  }
  return number;
}

std::optional<double> BodyReader::Number(const char* field, double low, double high) {
  const nlohmann::json* value = Find(field);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number()) {
    FailField(field, std::string(field) + ": Input should be a valid number", "Bad Request");
    return std::nullopt;
  }
  const double number = value->get<double>();
  if (!llama_ && (number < low || number > high)) {
    FailField(field, std::string(field) + " must be in [" + std::to_string(low) + ", " + std::to_string(high) +
                         "], got " + std::to_string(number) + ".");
  }
  return number;
}

std::optional<std::string> BodyReader::Text(const char* field) {
  const nlohmann::json* value = Find(field);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return value->get<std::string>();
  FailField(field, std::string(field) + ": Input should be a valid string", "Bad Request");
  return std::nullopt;
}

}  // namespace penstock::simulated
