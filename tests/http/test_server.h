// A router in this process, in front of scripted engines, driven by the plain core.
#ifndef PENSTOCK_TESTS_HTTP_TEST_SERVER_H_
#define PENSTOCK_TESTS_HTTP_TEST_SERVER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/serve/server.h"
#include "config/config.h"
#include "tests/http/plain_core.h"
#include "tests/http/test_wire.h"

namespace penstock {

class TestServer {
 public:
  // `adjust` changes the configuration of two threads, one replica per url.
  explicit TestServer(const std::vector<std::string>& urls, const std::function<void(Config&)>& adjust = nullptr);
  ~TestServer();

  // Until this many replicas are up.
  bool WaitUp(int replicas = 1);
  std::unique_ptr<Wire> Connect() const { return Wire::Connect(server->port()); }
  // One request on a connection of its own.
  WireMessage Ask(const std::string& request) const;
  WireMessage Chat(const std::string& more = "", const std::string& headers = "") const;
  // Every request that arrived has closed or was refused.
  bool AllClosed(size_t closed) const;
  // The value of a metric line that starts with `name`; -1 when there is none.
  double Metric(const std::string& name) const;

  Config config;
  PlainOrders orders;
  EventBook book;
  std::unique_ptr<RouterServer> server;
};

// A chat request of the model "m" and its stream's pieces.
std::string ChatBody(const std::string& more = "");
std::string StreamBody(const std::string& more = "");
// A whole request for a streamed chat answer.
std::string StreamRequest();
std::string DeltaJson(const std::string& text);
std::string FinishJson();
std::string UsageJson(int prompt, int completion);
// The answer of a well-behaved engine to a stream of `words` words.
void AnswerStream(EngineCall& call, int words);
// Streams a word, opens `began`, and finishes when `go` opens.
void HoldStream(EngineCall& call, Latch& began, Latch& go);

}  // namespace penstock

#endif  // PENSTOCK_TESTS_HTTP_TEST_SERVER_H_
