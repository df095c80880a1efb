// One response as it grows: its events in order, numbered from 0, and its object.
//
// Bounded by the text of the answer. No I/O.
#ifndef PENSTOCK_BACKENDS_SIMULATED_FACE_RESPONSE_LOG_H_
#define PENSTOCK_BACKENDS_SIMULATED_FACE_RESPONSE_LOG_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::simulated {

struct ResponseCounts {
  int64_t prompt = 0;
  int64_t output = 0;
  int64_t cached = 0;
};

class ResponseLog {
 public:
  // `object`: the response as it begins, with id and status.
  explicit ResponseLog(nlohmann::json object);

  void Text(std::string_view text);
  // A part of the arguments of a call of the function `name`. An answer has either text or one call.
  void Arguments(std::string_view name, std::string_view text);
  // `reason`: stop or length.
  void Finish(std::string_view reason, const ResponseCounts& counts);
  void Fail(const std::string& message);
  void Cancel();

  const std::vector<std::string>& events() const { return events_; }
  const nlohmann::json& object() const { return object_; }
  const std::string& text() const { return text_; }
  // The item of the call; null: the answer is text.
  const nlohmann::json& call() const { return call_; }
  bool ended() const { return ended_; }

 private:
  void Add(const char* type, nlohmann::json members);
  void BeginText();
  void EndText();
  void EndCall(const char* status);
  nlohmann::json Message(const char* status) const;
  nlohmann::json Part() const;
  void End(const char* type, const char* status);

  nlohmann::json object_;
  std::vector<std::string> events_;
  std::string text_;  // Of the message, or of the arguments.
  nlohmann::json call_;
  bool begun_ = false;
  bool ended_ = false;
};

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_FACE_RESPONSE_LOG_H_
