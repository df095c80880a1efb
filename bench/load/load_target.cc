#include "bench/load/load_target.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "bench/load/answer_parser.h"
#include "config/text/addresses.h"

namespace penstock::bench {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;

constexpr uint64_t kMaxBody = 64 << 20;
constexpr size_t kPageBytes = 64 << 10;

// One exchange on its own loop; the first step that fails ends it.
class Fetch {
 public:
  Fetch(const LoadTarget& target, const std::string& path, Duration timeout)
      : target_(target), request_(http::verb::get, path, 11), stream_(loop_) {
    request_.set(http::field::host, target.Authority());
    request_.set(http::field::connection, "close");
    for (const auto& [name, value] : target.headers) request_.set(name, value);
    stream_.expires_after(std::chrono::nanoseconds(timeout.nanoseconds()));
  }

  absl::StatusOr<std::string> Run() {
    asio::ip::tcp::resolver resolver(loop_);
    error_code resolved;
    const auto endpoints = resolver.resolve(target_.host, target_.port, resolved);
    if (resolved) return Failure(resolved);
    stream_.async_connect(endpoints, [this](error_code error, const auto&) { OnConnected(error); });
    loop_.run();
    if (error_) return Failure(error_);
    if (!fault_.ok()) return absl::UnavailableError(absl::StrCat(target_.url, ": not HTTP: ", fault_.message()));
    auto& answer = answer_.parser().get();
    if (answer.result() != http::status::ok) {
      return absl::UnavailableError(
          absl::StrCat(target_.url, ": ", std::string(request_.target()), " answered ", answer.result_int()));
    }
    return std::move(answer.body());
  }

 private:
  void OnConnected(error_code error) {
    error_ = error;
    if (error_) return;
    http::async_write(stream_, request_, [this](error_code written, size_t) { OnWritten(written); });
  }
  void OnWritten(error_code error) {
    error_ = error;
    if (error_) return;
    ReadMore();
  }
  void ReadMore() {
    stream_.async_read_some(buffer_.prepare(kPageBytes),
                            [this](error_code error, size_t size) { OnRead(error, size); });
  }
  void OnRead(error_code error, size_t size) {
    buffer_.commit(size);
    if (error == asio::error::eof && answer_.parser().got_some()) {
      error_ = {};
      answer_.parser().put_eof(error_);
      return;
    }
    error_ = error;
    if (error_) return;
    fault_ = answer_.Feed(buffer_);
    if (fault_.ok() && !answer_.is_done()) ReadMore();
  }
  absl::Status Failure(error_code error) const {
    return absl::UnavailableError(absl::StrCat(target_.url, ": ", error.message()));
  }

  asio::io_context loop_{1};
  const LoadTarget& target_;
  http::request<http::empty_body> request_;
  AnswerParser<http::string_body> answer_{kMaxBody, {}};
  absl::Status fault_;  // Names what makes the answer no HTTP.
  beast::flat_buffer buffer_;
  beast::tcp_stream stream_;
  error_code error_;
};

}  // namespace

absl::StatusOr<LoadTarget> ParseLoadTarget(absl::string_view url) {
  LoadTarget target;
  target.url = std::string(absl::StripSuffix(absl::StripAsciiWhitespace(url), "/"));
  const absl::StatusOr<EngineUrl> parsed = ParseEngineUrl(target.url);
  if (!parsed.ok()) return parsed.status();
  if (!parsed->socket_path.empty())
    return absl::InvalidArgumentError(absl::StrCat("\"", url, "\": only TCP is supported"));
  if (parsed->tls) return absl::InvalidArgumentError(absl::StrCat("\"", url, "\": only http:// URLs are supported"));
  target.host = parsed->address.host;
  target.port = absl::StrCat(parsed->address.port);
  target.root = parsed->base_path;
  target.api = target.root + "/v1";
  return target;
}

absl::StatusOr<std::string> FetchText(const LoadTarget& target, const std::string& path, Duration timeout) {
  return Fetch(target, path, timeout).Run();
}

std::optional<double> SumOfMetric(absl::string_view exposition, absl::string_view name) {
  std::optional<double> sum;
  for (absl::string_view line : absl::StrSplit(exposition, '\n')) {
    if (!absl::ConsumePrefix(&line, name)) continue;
    if (absl::StartsWith(line, "{")) {
      const size_t close = line.rfind('}');
      if (close == absl::string_view::npos) continue;
      line.remove_prefix(close + 1);
    } else if (!absl::StartsWith(line, " ")) {
      continue;
    }
    const std::vector<absl::string_view> fields = absl::StrSplit(absl::StripAsciiWhitespace(line), ' ');
    double value = 0;
    if (absl::SimpleAtod(fields.front(), &value) && std::isfinite(value)) sum = sum.value_or(0) + value;
  }
  return sum;
}

std::optional<int64_t> FetchPreemptions(const LoadTarget& target) {
  const absl::StatusOr<std::string> text = FetchText(target, target.root + "/metrics", Duration::Seconds(3));
  if (!text.ok()) return std::nullopt;
  std::optional<double> sum = SumOfMetric(*text, "penstock_replica_preemptions_total");
  if (!sum) sum = SumOfMetric(*text, "vllm:num_preemptions_total");
  if (!sum) return std::nullopt;
  return static_cast<int64_t>(*sum);
}

absl::StatusOr<std::vector<std::string>> FetchModels(const LoadTarget& target) {
  const absl::StatusOr<std::string> text = FetchText(target, target.api + "/models", Duration::Seconds(3));
  if (!text.ok()) return text.status();
  std::vector<std::string> names;
  const auto json = nlohmann::json::parse(*text, nullptr, false);
  if (json.is_object() && json.contains("data") && json["data"].is_array()) {
    for (const auto& model : json["data"]) {
      if (model.is_object() && model.contains("id") && model["id"].is_string()) names.push_back(model["id"]);
    }
  }
  if (!names.empty()) return names;
  return absl::UnavailableError(absl::StrCat(target.url, ": ", target.api, "/models lists no model"));
}

absl::StatusOr<std::string> FetchFirstModel(const LoadTarget& target) {
  absl::StatusOr<std::vector<std::string>> names = FetchModels(target);
  if (!names.ok()) return names.status();
  return std::move(names->front());
}

std::optional<int64_t> SumPreemptions(const std::vector<LoadTarget>& targets) {
  int64_t sum = 0;
  for (const LoadTarget& target : targets) {
    const std::optional<int64_t> count = FetchPreemptions(target);
    if (!count) return std::nullopt;
    sum += *count;
  }
  return sum;
}

}  // namespace penstock::bench
