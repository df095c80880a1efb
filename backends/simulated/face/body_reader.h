// Typed reading of a JSON request body. It holds the first error, in the words of the dialect.
#ifndef PENSTOCK_BACKENDS_SIMULATED_FACE_BODY_READER_H_
#define PENSTOCK_BACKENDS_SIMULATED_FACE_BODY_READER_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "backends/simulated/face/job.h"

namespace penstock::simulated {

class BodyReader {
 public:
  // `llama`: the statuses and rules of llama-server.
  BodyReader(std::string_view body, bool llama);

  const nlohmann::json& json() const { return json_; }
  const std::optional<ApiError>& error() const { return error_; }
  // Stores `error` if it is the first one.
  void Fail(ApiError error);
  void FailField(const std::string& field, const std::string& message, const std::string& type = "BadRequestError");

  // Null when absent or null.
  const nlohmann::json* Find(const char* field) const;
  bool Bool(const char* field);
  // A whole number in [low, high]. A number beyond 64 bits saturates before the check.
  std::optional<int64_t> Whole(const char* field, int64_t low, int64_t high);
  std::optional<double> Number(const char* field, double low, double high);
  std::optional<std::string> Text(const char* field);

 private:
  nlohmann::json json_;
  std::optional<ApiError> error_;
  bool llama_;
};

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_FACE_BODY_READER_H_
