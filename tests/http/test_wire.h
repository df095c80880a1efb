// Plain blocking sockets for the server tests: a client, and an engine whose answers are scripted.
//
// Every wait has a bound; none passes by sleeping.
#ifndef PENSTOCK_TESTS_HTTP_TEST_WIRE_H_
#define PENSTOCK_TESTS_HTTP_TEST_WIRE_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace penstock {

// Bounds a hang; nothing is measured by it. A sanitized test beside another one is twenty times slower than a release.
inline constexpr std::chrono::milliseconds kPatience{60'000};

// One connected socket. One thread uses it; any other may shut it down.
class Wire {
 public:
  explicit Wire(int fd) : fd_(fd) {}
  static std::unique_ptr<Wire> Connect(uint16_t port);
  ~Wire();
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  bool Send(const std::string& bytes);
  // Reads more into the buffer; false at the end, on an error, or after `patience`.
  bool ReadMore(std::chrono::milliseconds patience = kPatience);
  // Reads until the buffer holds `text` at `from` or later; its position, or npos.
  size_t ReadUntil(const std::string& text, std::chrono::milliseconds patience = kPatience, size_t from = 0);
  // The other side closed within `patience`; what it still sent is dropped.
  bool WaitClosed(std::chrono::milliseconds patience = kPatience);
  // From now on the kernel keeps about `bytes` that this side has not read, however fast the other side sends.
  void BoundReceived(int bytes);
  void Close();
  // Ends both directions, from any thread; a read in another thread returns.
  void Shutdown();
  std::string& buffer() { return buffer_; }

 private:
  std::mutex closing_;  // A closed descriptor may be another socket's by the time that Shutdown reads it.
  int fd_;
  std::string buffer_;
};

struct WireMessage {
  std::string start;                           // Request or status line.
  std::map<std::string, std::string> headers;  // Names in lower case.
  std::string body;                            // Chunks joined.
  bool complete = false;                       // As its framing says.
  int status() const;
  std::string target() const;
};
// The next message on the wire, to its end or as far as it comes.
WireMessage ReadMessage(Wire& wire, std::chrono::milliseconds patience = kPatience);

// A request as a client writes it.
std::string PostJson(const std::string& path, const std::string& body, const std::string& more_headers = "");
std::string Get(const std::string& path);

// One exchange on the engine's side.
struct EngineCall {
  Wire& wire;
  WireMessage request;

  void Answer(int status, const std::string& body, const std::string& content_type = "application/json");
  void BeginStream();
  void Chunk(const std::string& data);
  // data: `json`, as one chunk.
  void Event(const std::string& json) { Chunk("data: " + json + "\n\n"); }
  void EndStream();
};

// An engine on a free port, or a given one. GETs are answered from `pages`, and so are POSTs to one of them. Other
// POSTs are the script's, on the connection's own thread.
class ScriptedEngine {
 public:
  using Script = std::function<void(EngineCall&)>;
  explicit ScriptedEngine(Script script, std::map<std::string, std::string> pages = DefaultPages(), uint16_t port = 0);
  ~ScriptedEngine();

  uint16_t port() const { return port_; }
  std::string url() const;
  int calls() const { return calls_.load(); }
  // The answer to GETs of `target` from now on.
  void SetPage(const std::string& target, std::string body);
  void RemovePage(const std::string& target);
  // A plain OpenAI-compatible server of the model "m".
  static std::map<std::string, std::string> DefaultPages();

 private:
  void Accept();
  void Serve(const std::shared_ptr<Wire>& wire);
  std::optional<std::string> PageOf(const std::string& target);

  const Script script_;
  int listen_fd_ = -1;
  uint16_t port_ = 0;
  std::atomic<bool> stopped_{false};
  std::atomic<int> calls_{0};
  std::thread acceptor_;
  std::mutex mutex_;
  std::map<std::string, std::string> pages_;
  std::vector<std::thread> threads_;
  std::vector<std::weak_ptr<Wire>> wires_;
};

// A flag that one thread sets and another waits for.
class Latch {
 public:
  void Set();
  bool Wait(std::chrono::milliseconds patience = kPatience);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool set_ = false;
};

// Polls a condition until it holds; false after `patience`.
bool Eventually(const std::function<bool()>& condition, std::chrono::milliseconds patience = kPatience);

}  // namespace penstock

#endif  // PENSTOCK_TESTS_HTTP_TEST_WIRE_H_
