// The fields of a request in Ollama's own dialect, by their places in its body.
//
// A visitor of a JsonWalk. It notes spans only, so a body with long pictures costs one pass. Of a field that occurs
// twice the last counts, as in Ollama. Pure; lives as long as the body.
#ifndef PENSTOCK_ROUTER_OLLAMA_REQUEST_FIELDS_H_
#define PENSTOCK_ROUTER_OLLAMA_REQUEST_FIELDS_H_

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "kvmodel/prompt/text_counts.h"
#include "router/openai/request/json_cursor.h"

namespace penstock::ollama {

enum class Field : uint8_t {
  kModel,
  kName,  // Of /api/show, in older clients.
  kMessages,
  kPrompt,
  kSystem,
  kSuffix,
  kTemplate,
  kImages,
  kTools,
  kFormat,
  kOptions,
  kStream,
  kRaw,
  kThink,
  kCount,
};

enum class Part : uint8_t { kRole, kContent, kImages, kToolCalls, kToolName, kToolCallId, kCount };

// One message of a chat. A span without bytes: the member is absent.
struct Message {
  std::array<JsonSpan, static_cast<size_t>(Part::kCount)> parts{};
  std::vector<JsonSpan> images;

  JsonSpan At(Part part) const { return parts[static_cast<size_t>(part)]; }
};

class RequestFields {
 public:
  // More make no sense, and each costs memory.
  static constexpr size_t kMostMessages = 20'000;
  static constexpr size_t kMostImages = 1000;

  explicit RequestFields(absl::string_view body) : body_(body) {}

  // The methods of a visitor.
  void Key(absl::string_view raw, bool escaped);
  bool Open(const char* at);
  TextCounter* Text(const char*) { return nullptr; }
  void Close();
  void End(absl::string_view raw);

  // Null: absent, or null.
  std::optional<JsonValue> Find(Field field) const;
  JsonValue ValueIn(JsonSpan span) const { return JsonValue{body_, span}; }
  const std::vector<Message>& messages() const { return messages_; }
  // The pictures of /api/generate.
  const std::vector<JsonSpan>& images() const { return images_; }
  // There are more messages or pictures than may be, or one has another type.
  bool too_many() const { return too_many_; }
  bool wrong_type() const { return wrong_type_; }

 private:
  enum class Place : uint8_t { kBody, kMessages, kMessage, kMessageImages, kImages };

  void EndInMessage(absl::string_view raw);
  void AddImage(std::vector<JsonSpan>& images, absl::string_view raw);

  const absl::string_view body_;
  std::vector<Place> places_;
  Field field_ = Field::kCount;
  Part part_ = Part::kCount;
  std::array<JsonSpan, static_cast<size_t>(Field::kCount)> spans_{};
  std::vector<Message> messages_;
  std::vector<JsonSpan> images_;
  size_t all_images_ = 0;
  bool too_many_ = false;
  bool wrong_type_ = false;
};

}  // namespace penstock::ollama

#endif  // PENSTOCK_ROUTER_OLLAMA_REQUEST_FIELDS_H_
