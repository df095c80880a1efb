// Answers of chats in Anthropic's dialect, for engines that lack it.
//
// A chunk of a stream becomes events of a message. Thinking, text and each call of a tool are blocks one after another.
// A refusal is text, and so is a list of texts. The usage comes with the end. Texts keep their escapes as the engine
// wrote them. Errors become error events. The writer reads the first of several choices. It has one owner and is pure.
// An event costs about a microsecond.
#ifndef PENSTOCK_ROUTER_ANTHROPIC_MESSAGE_WRITER_H_
#define PENSTOCK_ROUTER_ANTHROPIC_MESSAGE_WRITER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "backends/dialect/json_scanner.h"
#include "backends/dialect/sse_splitter.h"
#include "backends/dialect/usage.h"

namespace penstock::anthropic {

// A call of a tool in a chunk or a whole chat. Raw JSON but for `arguments`, which is the inside of a string, or an
// object.
struct ToolCall {
  int64_t index = 0;
  absl::string_view id;
  absl::string_view name;
  absl::string_view arguments;
  bool object = false;
};

// One chunk of a stream, or a whole chat. Raw values, or the insides of strings.
struct ChatPiece {
  absl::string_view id;     // With its quotes.
  absl::string_view model;  // With its quotes.
  absl::string_view text;
  std::vector<absl::string_view> more_text;  // Further parts of content that is a list.
  absl::string_view refusal;                 // A text in place of the answer.
  absl::string_view thinking;
  std::vector<ToolCall> calls;
  std::string finish;
  absl::string_view stop;  // The stop string that ended it, with its quotes.
  std::optional<Usage> usage;
  bool error = false;
};

// False: it is no JSON object. The views point into `json`.
bool ReadChatPiece(absl::string_view json, ChatPiece* piece);

class MessageWriter {
 public:
  // `unique` tells this answer from all others. It is part of the ids that the engine left out: a conversation has the
  // calls of many answers.
  explicit MessageWriter(uint64_t unique) : unique_(unique) {}

  // The events for the next bytes of the engine's stream, valid until the next call.
  absl::string_view Take(absl::string_view bytes);
  // The stream ended: what is left of the message.
  absl::string_view Finish();
  // Bytes of an event that has not ended.
  size_t unfinished_bytes() const { return splitter_.Rest().size(); }
  // A part of a call belongs to a block that is closed, or to none. Nothing more is written.
  bool mixed_up() const { return mixed_up_; }
  // An event is no JSON, or has content that a message cannot say. Nothing more is written.
  bool unreadable() const { return unreadable_; }
  // A whole chat as a message. A call that the output limit cut has the arguments that are whole. None: it is no chat,
  // or another call of a tool is not JSON.
  std::optional<std::string> Whole(absl::string_view body) const;

 private:
  enum class Kind : uint8_t { kNone, kText, kThinking, kTool };

  // The engine's id, or one of ours, with its quotes.
  std::string OwnOr(absl::string_view id, absl::string_view prefix, size_t number) const;
  void TakeEvent(const SseSplitter::Event& event);
  void Begin(const ChatPiece& piece);
  // Makes a block of this kind the open one.
  void Open(Kind kind, absl::string_view block);
  void Close();
  void Delta(absl::string_view type, absl::string_view member, absl::string_view text);
  void TakeText(absl::string_view text);
  // False: the call belongs to a block that is closed.
  bool TakeCall(const ToolCall& call);
  void End();

  const uint64_t unique_;
  SseSplitter splitter_;
  std::string out_;
  bool begun_ = false;
  bool ended_ = false;
  bool mixed_up_ = false;
  bool unreadable_ = false;
  bool refused_ = false;
  Kind open_ = Kind::kNone;
  int64_t block_ = -1;           // The open block, or the last one.
  std::optional<int64_t> call_;  // The index of the last call.
  std::string call_id_;
  std::string finish_;  // Empty: the reason of the end has not come.
  std::string stop_;    // As JSON.
  std::optional<Usage> usage_;
};

}  // namespace penstock::anthropic

#endif  // PENSTOCK_ROUTER_ANTHROPIC_MESSAGE_WRITER_H_
