// The fields of a request in Anthropic's dialect, by their places in its body.
//
// A visitor of a JsonWalk. It notes spans only, so a body with long images costs one pass. Of a member that occurs
// twice the last counts. Pure; lives as long as the body.
#ifndef PENSTOCK_ROUTER_ANTHROPIC_TURN_FIELDS_H_
#define PENSTOCK_ROUTER_ANTHROPIC_TURN_FIELDS_H_

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "kvmodel/prompt/text_counts.h"
#include "router/openai/request/json_cursor.h"

namespace penstock::anthropic {

enum class Field : uint8_t {
  kModel,
  kMaxTokens,
  kMessages,
  kSystem,
  kStopSequences,
  kTemperature,
  kTopP,
  kTopK,
  kTools,
  kToolChoice,
  kThinking,
  kMetadata,
  kOutputConfig,
  kOutputFormat,
  kContainer,
  kMcpServers,
  kCount,
};

absl::string_view NameOf(Field field);

enum class Part : uint8_t {
  kType,
  kText,
  kThinking,
  kSource,
  kId,
  kName,
  kInput,
  kToolUseId,
  kContent,
  kIsError,
  // A document has these too.
  kTitle,
  kContext,
  kCount,
};
absl::string_view NameOf(Part part);
enum class SourcePart : uint8_t { kType, kMediaType, kData, kUrl, kCount };

// One block of a content. A span without bytes: the member is absent. That of a list of blocks is its first byte.
struct Block {
  std::array<JsonSpan, static_cast<size_t>(Part::kCount)> parts{};
  std::array<JsonSpan, static_cast<size_t>(SourcePart::kCount)> source{};
  bool inner = false;  // It stands in the result of a tool: that of the last block that is not inner.

  JsonSpan At(Part part) const { return parts[static_cast<size_t>(part)]; }
  JsonSpan At(SourcePart part) const { return source[static_cast<size_t>(part)]; }
};

// One message. Its blocks are those from `begin` to `end` of all blocks, where its content is a list.
struct Turn {
  JsonSpan role;
  JsonSpan content;
  size_t begin = 0;
  size_t end = 0;
};

class TurnFields {
 public:
  // More make no sense, and each costs memory. The blocks of one message are translated in one step.
  static constexpr size_t kMostTurns = 20'000;
  static constexpr size_t kMostBlocks = 20'000;
  static constexpr size_t kMostBlocksOfTurn = 1000;

  explicit TurnFields(absl::string_view body) : body_(body) {}

  // The methods of a visitor.
  void Key(absl::string_view raw, bool escaped);
  bool Open(const char* at);
  TextCounter* Text(const char*) { return nullptr; }
  void Close();
  void End(absl::string_view raw);

  // Null: absent, or null.
  std::optional<JsonValue> Find(Field field) const;
  JsonValue ValueIn(JsonSpan span) const { return JsonValue{body_, span}; }
  // A short string; empty for anything else.
  std::string Word(JsonSpan span) const;
  const std::vector<Turn>& turns() const { return turns_; }
  const std::vector<Block>& blocks() const { return blocks_; }
  // The blocks of the system prompt.
  const std::vector<Block>& system() const { return system_; }
  // There are more messages or blocks than may be.
  bool too_many() const { return too_many_; }
  // A list of blocks has something else.
  bool wrong_type() const { return wrong_type_; }

 private:
  enum class Place : uint8_t { kBody, kSystem, kTurns, kTurn, kContent, kBlock, kSource, kResult };

  std::vector<Block>& List() { return in_system_ ? system_ : blocks_; }
  // The place inside of the container at the walk, or none.
  std::optional<Place> Inside(bool list) const;
  // False: there are too many.
  bool AddBlock();
  // Reads the source of a block inside of a result, in one step.
  void ReadSource(absl::string_view raw);
  void EndInBlock(absl::string_view raw);

  const absl::string_view body_;
  std::vector<Place> places_;
  Field field_ = Field::kCount;
  // The member of a message: its role or content.
  JsonSpan Turn::*member_ = nullptr;
  std::vector<size_t> open_blocks_;  // Positions in the list.
  Part part_ = Part::kCount;
  SourcePart source_part_ = SourcePart::kCount;
  std::array<JsonSpan, static_cast<size_t>(Field::kCount)> spans_{};
  std::vector<Turn> turns_;
  std::vector<Block> blocks_;
  std::vector<Block> system_;
  bool in_system_ = false;
  bool too_many_ = false;
  bool wrong_type_ = false;
};

}  // namespace penstock::anthropic

#endif  // PENSTOCK_ROUTER_ANTHROPIC_TURN_FIELDS_H_
