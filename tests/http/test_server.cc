#include "tests/http/test_server.h"

#include <gtest/gtest.h>

#include <cstdio>

namespace penstock {

TestServer::TestServer(const std::vector<std::string>& urls, const std::function<void(Config&)>& adjust) {
  auto made = ConfigFromUrls("127.0.0.1:0", urls);
  if (!made.ok()) {
    ADD_FAILURE() << made.status();
    return;
  }
  config = *std::move(made);
  config.threads = 2;
  config.poll.interval = Duration::Milliseconds(50);
  config.log.path = "/dev/null";
  for (ReplicaConfig& replica : config.replicas) replica.engine = "openai";
  if (adjust) adjust(config);
  RouterServer::Options options;
  options.core = std::make_unique<PlainCore>(orders);
  options.record = [this](const Event& event, Instant, const std::vector<Action>&) { book.Record(event); };
  auto created = RouterServer::Create(config, std::move(options));
  if (!created.ok()) {
    ADD_FAILURE() << created.status();
    return;
  }
  server = *std::move(created);
  const absl::Status started = server->Start();
  if (!started.ok()) ADD_FAILURE() << started;
}

TestServer::~TestServer() {
  if (server != nullptr) server->Stop();
}

// The gauge moves just before the core learns of it, so the test waits for both.
bool TestServer::WaitUp(int replicas) {
  return Eventually([&] {
    int up = 0;
    for (const ReplicaHealth& health : book.Of<ReplicaHealth>()) up += health.health == Health::kUp ? 1 : 0;
    return server->replicas_up() >= replicas && up >= replicas;
  });
}

WireMessage TestServer::Ask(const std::string& request) const {
  const auto wire = Connect();
  wire->Send(request);
  return ReadMessage(*wire);
}

WireMessage TestServer::Chat(const std::string& more, const std::string& headers) const {
  return Ask(PostJson("/v1/chat/completions", ChatBody(more), headers));
}

bool TestServer::AllClosed(size_t closed) const {
  return Eventually([&] { return book.Of<RequestClosed>().size() == closed; });
}

double TestServer::Metric(const std::string& name) const {
  const std::string all = "\n" + server->Metrics();
  const size_t found = all.find("\n" + name);
  if (found == std::string::npos) return -1;
  const size_t line_end = all.find('\n', found + 1);
  const std::string line = all.substr(found + 1, line_end - found - 1);
  return std::stod(line.substr(line.rfind(' ') + 1));
}

std::string ChatBody(const std::string& more) {
  return "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"Hello there\"}]" + more + "}";
}

std::string StreamBody(const std::string& more) { return ChatBody(",\"stream\":true" + more); }

std::string StreamRequest() { return PostJson("/v1/chat/completions", StreamBody()); }

std::string DeltaJson(const std::string& text) {
  return "{\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":5,\"model\":\"m\",\"choices\":[{\"index\":0,"
         "\"delta\":{"
         "\"content\":\"" +
         text + "\"},\"finish_reason\":null}]}";
}

std::string FinishJson() {
  return "{\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":5,\"model\":\"m\",\"choices\":[{\"index\":0,"
         "\"delta\":{},"
         "\"finish_reason\":\"stop\"}]}";
}

std::string UsageJson(int prompt, int completion) {
  char text[300];
  std::snprintf(
      text, sizeof(text),
      "{\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":5,\"model\":\"m\",\"choices\":[],\"usage\":{"
      "\"prompt_tokens\":%d,\"completion_tokens\":%d,\"total_tokens\":%d}}",
      prompt, completion, prompt + completion);
  return text;
}

void AnswerStream(EngineCall& call, int words) {
  call.BeginStream();
  for (int i = 0; i < words; ++i) call.Event(DeltaJson("w" + std::to_string(i)));
  call.Event(FinishJson());
  if (call.request.body.find("\"include_usage\":true") != std::string::npos) call.Event(UsageJson(9, words));
  call.EndStream();
}

void HoldStream(EngineCall& call, Latch& began, Latch& go) {
  call.BeginStream();
  call.Event(DeltaJson("w"));
  began.Set();
  go.Wait();
  call.Event(FinishJson());
  call.EndStream();
}

}  // namespace penstock
