#include "router/telemetry/log/decision_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "router/telemetry/log/log_file.h"
#include "router/telemetry/log/patient_write.h"
#include "router/telemetry/log/recent_decisions.h"
#include "router/telemetry/log/text_limits.h"

namespace penstock {
namespace {

using Kind = DecisionEntry::Kind;

constexpr size_t kMaxRecentText = 512;
// Entries that are formatted and written together.
constexpr size_t kLinesPerWrite = 256;
// The end of the log waits so long for a reader.
constexpr std::chrono::milliseconds kLastWait(500);
// A file that could not be opened anew is tried again after it.
constexpr std::chrono::seconds kReopenAgain(1);

double UnixSeconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

constexpr uint32_t Bit(Kind kind) { return uint32_t{1} << static_cast<int>(kind); }

// The kinds that may be written; those that set their own level are always among them.
uint32_t KindsOf(LogLevel level, bool all, bool access) {
  uint32_t kinds = Bit(Kind::kNotice) | Bit(Kind::kError);
  if (level >= LogLevel::kWarning) kinds |= Bit(Kind::kRefuse);
  const bool decisions = level == LogLevel::kDebug || (all && level == LogLevel::kInfo);
  if (decisions) kinds |= Bit(Kind::kForward) | Bit(Kind::kPark) | Bit(Kind::kAbort) | Bit(Kind::kEnd);
  if (access && level >= LogLevel::kInfo) kinds |= Bit(Kind::kAccess);
  return kinds;
}

}  // namespace

struct DecisionLog::State {
  struct Queued {
    DecisionEntry entry;
    double at = 0;
  };
  // Belongs to the writer thread.
  struct Output {
    explicit Output(const std::string& path) : file(path) {}
    LogFile file;
    bool text = false;
    int64_t told = 0;           // Lost lines that a line reported.
    bool failed = false;        // The newest try to open the file anew.
    bool write_failed = false;  // The newest write.
    std::chrono::steady_clock::time_point next_try;
  };

  void Run();
  // Waits for work, but not beyond the next try to open the file. True: an order to open it anew.
  bool Await(std::vector<Queued>& batch, bool& running);
  void WriteBatch(const std::vector<Queued>& batch);
  void WriteLines(const Queued* first, size_t count);
  std::string Format(const DecisionEntry& entry, double at) const {
    return output.text ? FormatText(entry, at) : FormatDecision(entry, at);
  }
  // Empty: every lost line is reported.
  std::string LostLines() const;
  void ReopenNow();
  // Says once that the file takes no lines, until it takes some again. `error`: of the write that failed; 0: none did.
  void OnWritten(int error);
  // Writes a notice about the log's own file where it is seen: to stderr and among the newest entries.
  Queued Show(std::string message, LogLevel of);
  // The same, and to the file.
  void Tell(std::string message, LogLevel of) { WriteBatch({Show(std::move(message), of)}); }
  bool TimeToRetry() const { return output.failed && std::chrono::steady_clock::now() >= output.next_try; }
  // A reader that stands still keeps the writer, but neither another file nor the end.
  bool MayWait();

  explicit State(const Options& the_options)
      : options(the_options), recent(the_options.keep_recent), output(the_options.path) {}

  const Options options;
  RecentDecisions recent;
  Output output;
  std::atomic<int64_t> dropped{0};
  std::atomic<LogLevel> level{LogLevel::kInfo};
  std::atomic<uint32_t> kinds{0};
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

bool DecisionLog::State::Await(std::vector<Queued>& batch, bool& running) {
  std::unique_lock lock(mutex);
  writing = false;
  is_idle.notify_all();
  const auto has_some = [this] { return stop || reopen || !queue.empty(); };
  if (output.failed) {
    has_work.wait_until(lock, output.next_try, has_some);
  } else {
    has_work.wait(lock, has_some);
  }
  batch.swap(queue);
  running = !stop;
  writing = true;
  return std::exchange(reopen, false);
}

void DecisionLog::State::Run() {
  std::vector<Queued> batch;
  for (bool running = true; running;) {
    const bool ordered = Await(batch, running);
    if (ordered || TimeToRetry() || (!output.failed && output.file.IsGone())) ReopenNow();
    WriteBatch(batch);
    batch.clear();
  }
}

void DecisionLog::State::WriteBatch(const std::vector<Queued>& batch) {
  for (size_t at = 0; at < batch.size(); at += kLinesPerWrite) {
    WriteLines(&batch[at], std::min(kLinesPerWrite, batch.size() - at));
  }
}

std::string DecisionLog::State::LostLines() const {
  const int64_t lost = dropped - output.told;
  if (lost <= 0) return "";
  DecisionEntry entry;
  entry.level = LogLevel::kWarning;
  entry.message = absl::StrCat(lost, " lines of the log are lost: it could not be written, or not fast enough");
  return Format(entry, UnixSeconds()) + "\n";
}

void DecisionLog::State::WriteLines(const Queued* first, size_t count) {
  const int64_t lost = dropped;
  // A line that was cut keeps the next ones whole.
  std::string text = output.file.torn() ? "\n" : "";
  text += LostLines();
  const size_t head = text.size();
  for (size_t i = 0; i < count; ++i) text += Format(first[i].entry, first[i].at) + "\n";
  // Nobody could read what a removed file takes.
  const bool gone = output.failed && output.file.IsGone();
  int error = 0;
  const size_t written = gone ? 0
                              : WritePatiently(
                                    output.file.descriptor(), text, [this] { return MayWait(); }, &error);
  if (written > 0) output.file.SetTorn(text[written - 1] != '\n');
  if (written >= head) output.told = lost;
  const absl::string_view rest = absl::string_view(text).substr(std::max(written, head));
  dropped += std::count(rest.begin(), rest.end(), '\n');
  if (!gone) OnWritten(error);
}

void DecisionLog::State::OnWritten(int error) {
  const bool failed_before = std::exchange(output.write_failed, error != 0);
  if (error == 0 || failed_before || options.path.empty()) return;
  Show(absl::StrCat("cannot write ", options.path, ": ", std::strerror(error)), LogLevel::kError);
}

bool DecisionLog::State::MayWait() {
  std::lock_guard lock(mutex);
  return !reopen && (!stop || std::chrono::steady_clock::now() < give_up);
}

DecisionLog::State::Queued DecisionLog::State::Show(std::string message, LogLevel of) {
  DecisionEntry entry;
  entry.level = of;
  entry.message = std::move(message);
  const double now = UnixSeconds();
  WritePatiently(STDERR_FILENO, Format(entry, now) + "\n", [] { return false; });
  recent.Add(DecisionEntry(entry), now, kMaxRecentText);
  return {std::move(entry), now};
}

void DecisionLog::State::ReopenNow() {
  const bool failed_before = output.failed;
  const absl::Status opened = output.file.Open();
  output.failed = !opened.ok();
  output.next_try = std::chrono::steady_clock::now() + kReopenAgain;
  if (output.failed && !failed_before) {
    Tell(absl::StrCat(opened.message(), ": lines go to the old file, and are lost where it was removed"),
         LogLevel::kError);
  }
  if (!output.failed && failed_before)
    Tell(absl::StrCat("decision log ", options.path, " is open again"), LogLevel::kInfo);
}

absl::StatusOr<std::unique_ptr<DecisionLog>> DecisionLog::Open(const Options& options) {
  auto state = std::make_unique<State>(options);
  LogFile& file = state->output.file;
  if (absl::Status opened = file.Open(); !opened.ok()) return opened;
  const bool terminal = options.format == LogFormat::kAuto && file.OnTerminal();
  state->output.text = terminal || options.format == LogFormat::kText;
  auto log = std::unique_ptr<DecisionLog>(new DecisionLog(std::move(state)));
  log->SetWanted(options.level, options.all, options.access);
  return log;
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
}

bool DecisionLog::Wants(DecisionEntry::Kind kind) const {
  return (state_->kinds.load(std::memory_order_relaxed) & Bit(kind)) != 0;
}

bool DecisionLog::TakesRecent(DecisionEntry::Kind kind, Instant now) { return state_->recent.Takes(kind, now); }

std::vector<RecentDecision> DecisionLog::Recent() const { return state_->recent.All(); }

void DecisionLog::Write(DecisionEntry entry) {
  CutTexts(entry);
  const double now = UnixSeconds();
  const bool recent = entry.kind != Kind::kAccess;
  if (!Wants(entry.kind) || LevelOf(entry) > state_->level.load(std::memory_order_relaxed)) {
    if (recent) state_->recent.Add(std::move(entry), now, kMaxRecentText);
    return;
  }
  if (recent) state_->recent.Add(DecisionEntry(entry), now, kMaxRecentText);
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

void DecisionLog::Note(std::string message, LogLevel level) {
  DecisionEntry entry;
  entry.level = level;
  entry.message = std::move(message);
  Write(std::move(entry));
}

void DecisionLog::SetWanted(LogLevel level, bool all, bool access) {
  state_->level.store(level, std::memory_order_relaxed);
  state_->kinds.store(KindsOf(level, all, access), std::memory_order_relaxed);
}

void DecisionLog::Flush() {
  std::unique_lock lock(state_->mutex);
  state_->is_idle.wait(lock, [this] { return state_->queue.empty() && !state_->writing && !state_->reopen; });
}

void DecisionLog::Reopen() {
  // stderr cannot be opened anew, and a wish to do so would end the writer's wait for its reader.
  if (state_->options.path.empty()) return;
  {
    std::lock_guard lock(state_->mutex);
    state_->reopen = true;
  }
  state_->has_work.notify_one();
}

int64_t DecisionLog::dropped() const { return state_->dropped; }

}  // namespace penstock
