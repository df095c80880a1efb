#include "bench/traces/trace.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "bench/traces/workload.h"

namespace penstock::bench {
namespace {

constexpr char kHeader[] = "arrival_s,model,tenant,prompt_tokens,output_tokens";
constexpr char kPrefixColumn[] = "prefix_hashes";
constexpr char kClassColumn[] = "class";
constexpr char kLimitColumn[] = "max_output";
constexpr char kGoneColumn[] = "gone_after_s";
constexpr char kSessionColumn[] = "session";
constexpr char kShapeColumn[] = "shape";
constexpr size_t kFixedColumns = 5;
constexpr char kGeneratePrefix[] = "generate:";
// Far above any context. Sums of a whole trace stay inside 64 bits.
constexpr int64_t kMaxTokens = 100'000'000;
constexpr double kMaxArrivalSeconds = 1e9;
constexpr size_t kReadChunk = 1 << 16;
// A file without an end, such as /dev/zero, must not fill the memory. A prompt of 100,000,000 tokens has 8 MB of
// hashes.
constexpr size_t kLongestLine = 16 << 20;

// Lines of a plain or gzip file, without their ends.
class LineReader {
 public:
  explicit LineReader(const std::string& path) : file_(gzopen(path.c_str(), "rb")) {}
  ~LineReader() {
    if (file_ != nullptr) gzclose(file_);
  }
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  bool is_open() const { return file_ != nullptr; }
  // Empty where all is well.
  const std::string& error() const { return error_; }

  // False after the last line and after an error.
  bool Next(std::string& line) {
    line.clear();
    while (true) {
      const auto end = std::find(buffer_.begin() + static_cast<std::ptrdiff_t>(position_), buffer_.end(), '\n');
      line.append(buffer_.begin() + static_cast<std::ptrdiff_t>(position_), end);
      if (line.size() > kLongestLine) {
        error_ = absl::StrCat("the line is longer than ", kLongestLine, " bytes");
        return false;
      }
      if (end != buffer_.end()) {
        position_ = static_cast<size_t>(end - buffer_.begin()) + 1;
        if (!line.empty() && line.back() == '\r') line.pop_back();
        return true;
      }
      if (!Fill()) return error_.empty() && !line.empty();
    }
  }

 private:
  bool Fill() {
    buffer_.resize(kReadChunk);
    position_ = 0;
    const int read = gzread(file_, buffer_.data(), kReadChunk);
    buffer_.resize(static_cast<size_t>(std::max(read, 0)));
    int code = Z_OK;
    const char* message = gzerror(file_, &code);
    // A stream that was cut short reads as a plain end of file; only Z_BUF_ERROR tells the difference.
    if (read < 0 || code == Z_BUF_ERROR) {
      error_ = code == Z_ERRNO ? std::strerror(errno) : code == Z_BUF_ERROR ? "the gzip stream is cut short" : message;
      buffer_.clear();
    }
    return !buffer_.empty();
  }

  gzFile file_;
  std::string buffer_;
  size_t position_ = 0;
  std::string error_;
};

absl::Status ParseTokens(absl::string_view text, absl::string_view column, Tokens& tokens) {
  int64_t value = 0;
  if (!absl::SimpleAtoi(text, &value) || value < 1 || value > kMaxTokens) {
    return absl::InvalidArgumentError(
        absl::StrCat(column, ": \"", text, "\" is not a whole number from 1 to ", kMaxTokens));
  }
  tokens = Tokens(value);
  return absl::OkStatus();
}

absl::Status ParseHashes(absl::string_view text, std::vector<uint64_t>& hashes) {
  if (text.empty()) return absl::OkStatus();
  for (absl::string_view part : absl::StrSplit(text, ';')) {
    uint64_t hash = 0;
    if (!absl::SimpleAtoi(part, &hash)) {
      return absl::InvalidArgumentError(absl::StrCat(kPrefixColumn, ": \"", part, "\" is not a whole number"));
    }
    hashes.push_back(hash);
  }
  return absl::OkStatus();
}

// The columns of a trace: the fixed ones, then the optional ones of its header.
struct Columns {
  size_t count = kFixedColumns;
  size_t prefix = 0;         // Position; 0: none.
  size_t service_class = 0;  // Position; 0: none.
  size_t limit = 0;          // Position; 0: none.
  size_t gone = 0;           // Position; 0: none.
  size_t session = 0;        // Position; 0: none.
  size_t shape = 0;          // Position; 0: none.

  size_t* Named(absl::string_view name) {
    if (name == kPrefixColumn) return &prefix;
    if (name == kClassColumn) return &service_class;
    if (name == kGoneColumn) return &gone;
    if (name == kSessionColumn) return &session;
    if (name == kShapeColumn) return &shape;
    return name == kLimitColumn ? &limit : nullptr;
  }
};

absl::Status ParseLimit(absl::string_view field, Tokens& limit) {
  if (field.empty() || field == "0") return absl::OkStatus();
  return ParseTokens(field, kLimitColumn, limit);
}

absl::Status ParseSeconds(absl::string_view text, absl::string_view column, double& seconds) {
  if (absl::SimpleAtod(text, &seconds) && seconds >= 0 && seconds <= kMaxArrivalSeconds) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(column, ": \"", text, "\" is not a number of seconds from 0 to ", kMaxArrivalSeconds));
}

absl::Status ParseGone(absl::string_view field, std::optional<Duration>& gone_after) {
  if (field.empty()) return absl::OkStatus();
  double seconds = 0;
  const absl::Status status = ParseSeconds(field, kGoneColumn, seconds);
  if (status.ok()) gone_after = Duration::Seconds(seconds);
  return status;
}

absl::Status ParseRow(const std::string& line, const Columns& columns, TraceRequest& request) {
  const std::vector<absl::string_view> fields = absl::StrSplit(line, ',');
  if (fields.size() != columns.count) {
    return absl::InvalidArgumentError(absl::StrCat("expected ", columns.count, " columns, found ", fields.size()));
  }
  double arrival = 0;
  if (auto status = ParseSeconds(fields[0], "arrival_s", arrival); !status.ok()) return status;
  request.arrival = Duration::Seconds(arrival);
  request.model = std::string(fields[1]);
  request.tenant = std::string(fields[2]);
  if (auto status = ParseTokens(fields[3], "prompt_tokens", request.prompt); !status.ok()) return status;
  if (auto status = ParseTokens(fields[4], "output_tokens", request.output); !status.ok()) return status;
  if (columns.service_class > 0) request.service_class = std::string(fields[columns.service_class]);
  if (columns.session > 0) request.session = std::string(fields[columns.session]);
  if (columns.shape > 0) request.shape = std::string(fields[columns.shape]);
  if (columns.limit > 0) {
    if (auto status = ParseLimit(fields[columns.limit], request.max_output); !status.ok()) return status;
  }
  if (columns.gone > 0) {
    if (auto status = ParseGone(fields[columns.gone], request.gone_after); !status.ok()) return status;
  }
  return columns.prefix > 0 ? ParseHashes(fields[columns.prefix], request.prefix_hashes) : absl::OkStatus();
}

absl::StatusOr<Columns> ColumnsOf(absl::string_view header) {
  // Spreadsheets write it before UTF-8.
  absl::ConsumePrefix(&header, "\xEF\xBB\xBF");
  absl::Status bad = absl::InvalidArgumentError(absl::StrCat(
      "the header must be \"", kHeader, "\", optionally with \",", kPrefixColumn, "\", \",", kClassColumn, "\", \",",
      kLimitColumn, "\", \",", kGoneColumn, "\", \",", kSessionColumn, "\" and \",", kShapeColumn, "\""));
  if (!absl::ConsumePrefix(&header, kHeader)) return bad;
  Columns columns;
  while (absl::ConsumePrefix(&header, ",")) {
    const absl::string_view name = header.substr(0, header.find(','));
    size_t* column = columns.Named(name);
    if (column == nullptr || *column > 0) return bad;
    *column = columns.count++;
    header.remove_prefix(name.size());
  }
  if (!header.empty()) return bad;
  return columns;
}

absl::Status At(const std::string& path, int64_t line, absl::string_view message) {
  return absl::InvalidArgumentError(absl::StrCat(path, ":", line, ": ", message));
}

absl::Status Unreadable(const std::string& path, int64_t line, absl::string_view message) {
  return absl::DataLossError(absl::StrCat(path, ":", line, ": ", message));
}

absl::StatusOr<Trace> ReadLines(const std::string& path, LineReader& lines, int64_t most_lines) {
  Trace trace;
  trace.source = path;
  std::string line;
  lines.Next(line);
  if (!lines.error().empty()) return Unreadable(path, 1, lines.error());
  const absl::StatusOr<Columns> columns = ColumnsOf(line);
  if (!columns.ok()) return At(path, 1, columns.status().message());
  int64_t number = 2;
  for (; lines.Next(line); ++number) {
    if (number > most_lines) return At(path, number, absl::StrCat("a trace has ", most_lines, " lines at most"));
    if (line.empty()) continue;
    TraceRequest request;
    request.line = number;
    const absl::Status status = ParseRow(line, *columns, request);
    if (!status.ok()) return At(path, number, status.message());
    if (!trace.requests.empty() && request.arrival < trace.requests.back().arrival) {
      return At(path, number, "arrival_s is earlier than in the row before");
    }
    trace.requests.push_back(std::move(request));
  }
  if (!lines.error().empty()) return Unreadable(path, number, lines.error());
  if (trace.requests.empty()) return At(path, 1, "the trace has no rows");
  return trace;
}

Duration LastArrival(const Trace& trace) { return trace.requests.empty() ? Duration() : trace.requests.back().arrival; }

}  // namespace

absl::StatusOr<Trace> ReadTrace(const std::string& path, int64_t most_lines) {
  LineReader lines(path);
  if (!lines.is_open()) {
    return absl::NotFoundError(absl::StrCat(path, ": ", std::strerror(errno)));
  }
  absl::StatusOr<Trace> trace = ReadLines(path, lines, most_lines);
  if (trace.ok()) trace->length = std::max(LastArrival(*trace), Duration::Seconds(1));
  return trace;
}

void ApplyWindow(const TraceWindow& window, Trace& trace) {
  if (window.from > Duration()) {
    const auto first = std::partition_point(trace.requests.begin(), trace.requests.end(),
                                            [&](const TraceRequest& request) { return request.arrival < window.from; });
    trace.requests.erase(trace.requests.begin(), first);
    for (TraceRequest& request : trace.requests) request.arrival = request.arrival - window.from;
  }
  if (window.rate != 1) {
    for (TraceRequest& request : trace.requests) {
      request.arrival = Duration::Seconds(request.arrival.seconds() / window.rate);
    }
  }
  if (!window.duration) {
    trace.length = std::max(LastArrival(trace), Duration::Seconds(1));
    return;
  }
  const auto end = std::partition_point(trace.requests.begin(), trace.requests.end(), [&](const TraceRequest& request) {
    return request.arrival < *window.duration;
  });
  trace.requests.erase(end, trace.requests.end());
  trace.length = *window.duration;
}

absl::StatusOr<Trace> OpenTrace(const std::string& name, const TraceWindow& window, uint64_t seed) {
  absl::StatusOr<Trace> trace = absl::UnknownError("");
  if (absl::StartsWith(name, kGeneratePrefix)) {
    const Duration covered = window.duration.value_or(Duration::Seconds(600));
    trace = GenerateWorkload(name.substr(sizeof(kGeneratePrefix) - 1),
                             window.from + Duration::Seconds(covered.seconds() * std::max(window.rate, 1e-6)), seed);
  } else {
    trace = ReadTrace(name);
  }
  if (!trace.ok()) return trace;
  ApplyWindow(window, *trace);
  if (LastArrival(*trace).seconds() > kMaxArrivalSeconds) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": at this rate the last request arrives after ",
                                                   LastArrival(*trace).seconds(), " s, more than ", kMaxArrivalSeconds,
                                                   "; give a higher rate or a duration"));
  }
  return trace;
}

}  // namespace penstock::bench
