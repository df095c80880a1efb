// A client of Ollama's own dialect in front of another: it turns the session's answer into lines of that dialect.
//
// A stream becomes one object per line; the first line begins the answer. A whole answer becomes one object; a long one
// gathers here, up to LongestAtOnce() bytes, in the budget of answers. An error behind the first line is a line too.
// Lives in the coroutine of one request; belongs to one loop.
#ifndef PENSTOCK_ROUTER_OLLAMA_OLLAMA_CLIENT_H_
#define PENSTOCK_ROUTER_OLLAMA_OLLAMA_CLIENT_H_

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "backends/dialect/sse_splitter.h"
#include "router/live/event_loop.h"
#include "router/ollama/answer_writer.h"
#include "router/session/client/forwarding_client.h"
#include "router/session/state/answer_memory.h"
#include "router/session/state/text_parts.h"

namespace penstock::ollama {

// The present as Ollama writes it.
std::string WrittenNow();

class OllamaClient final : public ForwardingClient {
 public:
  // `account` pays for the memory of gathered bytes.
  OllamaClient(EventLoop& loop, Client& client, AnswerWriter writer, uint64_t account)
      : ForwardingClient(client),
        loop_(loop.io()),
        writer_(std::move(writer)),
        memory_(loop.edge(), loop.fleet()->config().limits.max_answer_memory, account),
        longest_(LongestAtOnce(loop.fleet()->config().limits.max_answer)) {}

  Written Whole(int status, absl::string_view content_type, const HeaderList& headers, absl::string_view body) override;
  void SetStatus(int status) override { status_ = status; }
  void BeginWhole(absl::string_view content_type, const HeaderList& headers, std::optional<uint64_t> length) override;
  Written Part(absl::string_view bytes) override;
  Written Events(const HeaderList& headers, const std::vector<absl::string_view>& pieces) override;
  boost::asio::awaitable<bool> FinishEvents() override;
  boost::asio::awaitable<bool> End() override;
  boost::asio::awaitable<bool> Error(const ApiError& error) override;
  std::string unfit() const override;
  // The dialect has no comments.
  void KeepAlive(const HeaderList&) override {}

 private:
  enum class Trouble : uint8_t { kNone, kTooLong, kNoMemory };

  void Begin();
  // Makes the lines of the events up to a long one.
  void TakeEvents();
  // Makes the lines of the long event, on a thread of its own, and of those behind it.
  boost::asio::awaitable<void> TakeLongEvent();
  // Writes the lines. kPart: some are left, or events are.
  Written WriteLines();
  boost::asio::awaitable<bool> EndGathered();
  // Makes the object of the gathered bytes; of many bytes on a thread of its own.
  boost::asio::awaitable<void> Translate();
  void Take(AnswerWriter writer, TextParts made);
  // The answer cannot be given as what it is: it is let go.
  void Drop(Trouble trouble);
  ApiError ErrorOf(Trouble trouble) const;

  boost::asio::io_context& loop_;
  std::optional<AnswerWriter> writer_;  // Always set.
  AnswerMemory memory_;
  const size_t longest_;
  Trouble trouble_ = Trouble::kNone;
  int status_ = http_status::kOk;
  SseSplitter splitter_;
  std::optional<SseSplitter::Event> long_;  // The next event, where it is long.
  std::string out_;                         // Written last.
  bool unwritten_ = false;                  // Part of it is not with the client.
  TextParts whole_;                         // Gathered, then the object that is made of it.
  std::optional<HeaderList> headers_;       // Set for a whole answer that gathers.
  HeaderList first_headers_;                // Set for a stream.
  bool begun_lines_ = false;
};

}  // namespace penstock::ollama

#endif  // PENSTOCK_ROUTER_OLLAMA_OLLAMA_CLIENT_H_
