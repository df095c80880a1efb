// Answers of chats in Anthropic's dialect, for engines that lack it.
//
// A chunk of a stream becomes events of a message. Thinking, text and each call of a tool are blocks one after another.
// A refusal is text, and so is a list of texts. The usage comes with the end. Texts keep their escapes as the engine
// wrote them. Errors become error events. The writer reads the first of several choices, and the first event that has
// it begins the message. Lists are bounded by kMostListed. It has one owner and is pure. An event costs about a
// microsecond.
#ifndef PENSTOCK_ROUTER_ANTHROPIC_MESSAGE_WRITER_H_
#define PENSTOCK_ROUTER_ANTHROPIC_MESSAGE_WRITER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "backends/dialect/sse_splitter.h"
#include "backends/dialect/usage.h"
#include "router/anthropic/chat_piece.h"

namespace penstock::anthropic {

class MessageWriter {
 public:
  // `unique` tells this answer from all others. It is part of the ids that the engine left out: a conversation has the
  // calls of many answers.
  explicit MessageWriter(uint64_t unique) : unique_(unique) {}

  // The events for the next bytes of the engine's stream, valid until the next call. They end before a long event.
  absl::string_view Take(absl::string_view bytes);
  // The next event of the engine has long data: TakeLong() must be called before anything else, on any thread. It makes
  // the events for it and for all behind it, up to the next long one.
  bool has_long() const { return long_.has_value(); }
  void TakeLong();
  // The events that TakeLong() made; once.
  std::string GiveEvents() { return std::move(out_); }
  // The stream ended: what is left of the message.
  absl::string_view Finish();
  // Bytes of an event that has not ended.
  size_t unfinished_bytes() const { return splitter_.Rest().size(); }
  // A part of a call belongs to a block that is closed, or to none. Nothing more is written.
  bool mixed_up() const { return fault_ == Fault::kMixedUp; }
  // An event is no JSON, or has content that a message cannot say, or too many calls. Nothing more is written.
  bool unreadable() const { return fault_ == Fault::kUnreadable; }
  // The engine reported a count that no message can have; the events have zero in its place.
  bool impossible_usage() const { return said_.impossible_usage; }
  // A whole chat as a message. A call that the output limit cut has the arguments that are whole. None: it is no chat,
  // another call of a tool is not JSON, or a list is too long.
  std::optional<std::string> Whole(absl::string_view body) const;

 private:
  enum class Kind : uint8_t { kNone, kText, kThinking, kTool };
  enum class Fault : uint8_t { kNone, kMixedUp, kUnreadable };
  // The facts so far that are no content. The names have their quotes, and end with the beginning of the message.
  struct Said {
    std::string id, model;
    std::optional<Usage> usage;
    int64_t pieces = 0;  // Events with content: the output of an engine that reports none.
    bool impossible_usage = false;
  };
  // The calls so far, and the last one of them.
  struct Calls {
    size_t begun = 0;
    std::optional<int64_t> index;
    std::string id;
  };

  // The engine's id, or one of ours, with its quotes.
  std::string OwnOr(absl::string_view id, absl::string_view prefix, size_t number) const;
  void TakeEvents();
  void TakeEvent(const SseSplitter::Event& event);
  void TakeContent(const ChatPiece& piece);
  void TakeFacts(const ChatPiece& piece);
  void Begin();
  // Makes a block of this kind the open one.
  void Open(Kind kind, absl::string_view block);
  void Close();
  void Delta(absl::string_view type, absl::string_view member, absl::string_view text);
  void TakeText(absl::string_view text);
  // Writes the part of a call, unless it has a fault.
  Fault TakeCall(const ToolCall& call);
  void End();

  const uint64_t unique_;
  SseSplitter splitter_;
  std::optional<SseSplitter::Event> long_;
  std::string out_;
  bool begun_ = false;
  bool ended_ = false;
  Fault fault_ = Fault::kNone;
  bool refused_ = false;
  Kind open_ = Kind::kNone;
  int64_t block_ = -1;  // The open block, or the last one.
  Calls calls_;
  std::string finish_;  // Empty: the reason of the end has not come.
  std::string stop_;    // As JSON.
  Said said_;
};

}  // namespace penstock::anthropic

#endif  // PENSTOCK_ROUTER_ANTHROPIC_MESSAGE_WRITER_H_
