#include "router/telemetry/log/decision_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "router/telemetry/log/patient_write.h"
#include "router/telemetry/log/recent_decisions.h"

namespace penstock {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxText = 512;
// The end of the log waits so long for a reader.
constexpr std::chrono::milliseconds kLastWait(500);

void Put(Json& line, const char* key, const std::string& text) {
  if (!text.empty()) line[key] = text.size() > kMaxText ? text.substr(0, kMaxText) : text;
}
void Put(Json& line, const char* key, const std::optional<Tokens>& tokens) {
  if (tokens) line[key] = tokens->value();
}
void Put(Json& line, const char* key, const std::optional<Duration>& span) {
  if (span) line[key] = span->seconds();
}
template <class Number>
void Put(Json& line, const char* key, const std::optional<Number>& number) {
  if (number) line[key] = *number;
}

double UnixSeconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

absl::StatusOr<int> OpenFile(const std::string& path) {
  if (path.empty()) return STDERR_FILENO;
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0640);
  if (file >= 0) return file;
  return absl::ErrnoToStatus(errno, absl::StrCat("decision log ", path));
}

}  // namespace

const char* LabelOf(DecisionEntry::Kind kind) {
  switch (kind) {
    case DecisionEntry::Kind::kForward:
      return "forward";
    case DecisionEntry::Kind::kPark:
      return "park";
    case DecisionEntry::Kind::kAbort:
      return "abort";
    case DecisionEntry::Kind::kEnd:
      return "end";
    case DecisionEntry::Kind::kRefuse:
      return "refuse";
    case DecisionEntry::Kind::kError:
      return "error";
    case DecisionEntry::Kind::kNotice:
      return "notice";
  }
  return "notice";
}

std::string FormatDecision(const DecisionEntry& entry, double unix_seconds) {
  Json line;
  line["time"] = unix_seconds;
  line["event"] = LabelOf(entry.kind);
  Put(line, "request", entry.request_id);
  Put(line, "endpoint", entry.endpoint);
  Put(line, "model", entry.model);
  Put(line, "class", entry.service_class);
  Put(line, "tenant", entry.tenant);
  Put(line, "client", entry.client);
  Put(line, "replica", entry.replica);
  Put(line, "ended", entry.ended);
  Put(line, "reason", entry.reason);
  Put(line, "status", entry.status);
  Put(line, "prompt_tokens_estimate", entry.prompt_estimate);
  Put(line, "prompt_tokens", entry.prompt);
  Put(line, "max_tokens", entry.max_output);
  Put(line, "output_tokens", entry.output);
  Put(line, "position", entry.position);
  Put(line, "bound", entry.bound);
  Put(line, "value", entry.value);
  Put(line, "waited_s", entry.waited);
  Put(line, "expected_ttft_s", entry.expected_ttft);
  Put(line, "retry_after_s", entry.retry_after);
  Put(line, "total_s", entry.total);
  Put(line, "peak_share", entry.peak_share);
  Put(line, "message", entry.message);
  return line.dump(-1, ' ', false, Json::error_handler_t::replace);
}

struct DecisionLog::State {
  struct Queued {
    DecisionEntry entry;
    double at = 0;
  };

  void Run();
  void WriteBatch(const std::vector<Queued>& batch);
  void ReopenNow();
  // A reader that stands still keeps the writer, but neither another file nor the end.
  bool MayWait();

  explicit State(const Options& the_options) : options(the_options), recent(the_options.keep_recent) {}

  const Options options;
  RecentDecisions recent;
  int file = STDERR_FILENO;  // Used by the writer thread only.
  std::atomic<int64_t> dropped{0};
  std::atomic<bool> all{false};
  // The packaged absl::Mutex is opaque to the thread sanitizer.
  std::mutex mutex;  // Guards everything below.
  std::condition_variable has_work;
  std::condition_variable is_idle;
  std::vector<Queued> queue;
  bool writing = false;
  bool reopen = false;
  bool stop = false;
  std::chrono::steady_clock::time_point give_up;  // Set with `stop`.
  std::thread writer;
};

void DecisionLog::State::Run() {
  std::vector<Queued> batch;
  for (bool running = true; running;) {
    bool reopen_first = false;
    {
      std::unique_lock lock(mutex);
      writing = false;
      is_idle.notify_all();
      has_work.wait(lock, [this] { return stop || reopen || !queue.empty(); });
      batch.swap(queue);
      reopen_first = std::exchange(reopen, false);
      running = !stop;
      writing = true;
    }
    if (reopen_first) ReopenNow();
    WriteBatch(batch);
    batch.clear();
  }
}

void DecisionLog::State::WriteBatch(const std::vector<Queued>& batch) {
  if (batch.empty()) return;
  std::string text;
  for (const Queued& queued : batch) text += FormatDecision(queued.entry, queued.at) + "\n";
  if (!WritePatiently(file, text, [this] { return MayWait(); })) dropped += static_cast<int64_t>(batch.size());
}

bool DecisionLog::State::MayWait() {
  std::lock_guard lock(mutex);
  return !reopen && (!stop || std::chrono::steady_clock::now() < give_up);
}

void DecisionLog::State::ReopenNow() {
  absl::StatusOr<int> fresh = OpenFile(options.path);
  if (!fresh.ok()) {
    DecisionEntry entry;
    entry.kind = DecisionEntry::Kind::kError;
    entry.message = std::string(fresh.status().message());
    WriteBatch({Queued{std::move(entry), UnixSeconds()}});
    return;
  }
  if (file != STDERR_FILENO) close(file);
  file = *fresh;
}

absl::StatusOr<std::unique_ptr<DecisionLog>> DecisionLog::Open(const Options& options) {
  absl::StatusOr<int> file = OpenFile(options.path);
  if (!file.ok()) return file.status();
  auto state = std::make_unique<State>(options);
  state->all = options.all;
  state->file = *file;
  return std::unique_ptr<DecisionLog>(new DecisionLog(std::move(state)));
}

DecisionLog::DecisionLog(std::unique_ptr<State> state) : state_(std::move(state)) {
  state_->writer = std::thread([state = state_.get()] { state->Run(); });
}

DecisionLog::~DecisionLog() {
  {
    std::lock_guard lock(state_->mutex);
    state_->stop = true;
    state_->give_up = std::chrono::steady_clock::now() + kLastWait;
  }
  state_->has_work.notify_one();
  state_->writer.join();
  if (state_->file != STDERR_FILENO) close(state_->file);
}

bool DecisionLog::Wants(DecisionEntry::Kind kind) const {
  return state_->all.load(std::memory_order_relaxed) || kind >= DecisionEntry::Kind::kRefuse;
}

bool DecisionLog::keeps_recent() const { return state_->recent.enabled(); }

std::vector<RecentDecision> DecisionLog::Recent() const { return state_->recent.All(); }

void DecisionLog::Write(DecisionEntry entry) {
  const double now = UnixSeconds();
  state_->recent.Add(entry, now, kMaxText);
  if (!Wants(entry.kind)) return;
  State::Queued queued{std::move(entry), now};
  {
    std::lock_guard lock(state_->mutex);
    if (state_->queue.size() >= state_->options.max_queued) {
      state_->dropped += 1;
      return;
    }
    state_->queue.push_back(std::move(queued));
    if (state_->queue.size() > 1) return;  // The entry that made the queue non-empty woke the writer.
  }
  state_->has_work.notify_one();
}

void DecisionLog::SetAll(bool all) { state_->all.store(all, std::memory_order_relaxed); }

void DecisionLog::Flush() {
  std::unique_lock lock(state_->mutex);
  state_->is_idle.wait(lock, [this] { return state_->queue.empty() && !state_->writing && !state_->reopen; });
}

void DecisionLog::Reopen() {
  {
    std::lock_guard lock(state_->mutex);
    state_->reopen = true;
  }
  state_->has_work.notify_one();
}

int64_t DecisionLog::dropped() const { return state_->dropped; }

}  // namespace penstock
