#include "bench/proxy/client_options.h"

#include <cstdlib>
#include <string_view>

namespace penstock::proxy_bench {
namespace {

bool IsStream(const Options& options) { return options.mode != "short" || options.events > 0; }

}  // namespace

Options ParseOptions(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view key = argv[i];
    const char* value = argv[i + 1];
    if (key == "--port") options.port = std::atoi(value);
    if (key == "--mode") options.mode = value;
    if (key == "--model") options.model = value;
    if (key == "--connections") options.connections = std::atoi(value);
    if (key == "--seconds") options.seconds = std::atof(value);
    if (key == "--requests") options.requests = std::atoll(value);
    if (key == "--rate") options.rate = std::atof(value);
    if (key == "--prompt") options.prompt = static_cast<size_t>(std::atoll(value));
    if (key == "--events") options.events = std::atoll(value);
    if (key == "--interval") options.interval = std::atoll(value);
    if (key == "--header") options.headers += std::string(value) + "\r\n";
    if (key == "--pid") options.pids.push_back(std::atoi(value));
  }
  if (IsStream(options) && options.events == 0) options.events = 100'000'000;
  if (options.mode == "hold") options.interval = 3'600'000'000;
  return options;
}

std::string RequestText(const Options& options) {
  std::string text;
  while (text.size() < options.prompt) text += "The quick brown fox jumps over the lazy dog. ";
  text.resize(options.prompt);
  const std::string order = std::to_string(options.events) + "," + std::to_string(options.interval);
  const std::string suffix = " x-stub " + order;
  const bool stream = IsStream(options);
  if (stream && text.size() > suffix.size()) text.replace(text.size() - suffix.size(), suffix.size(), suffix);
  const std::string body = "{\"model\":\"" + options.model + "\",\"messages\":[{\"role\":\"user\",\"content\":\"" +
                           text + "\"}],\"max_tokens\":100" + (stream ? ",\"stream\":true}" : "}");
  return "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nUser-Agent: proxy_client\r\n"
         "Content-Type: application/json\r\nAccept: */*\r\nAuthorization: Bearer sk-none\r\nx-stub: " +
         order + "\r\n" + options.headers + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

}  // namespace penstock::proxy_bench
