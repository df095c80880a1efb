// The error that a client gets when its engine failed.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/http/test_server.h"

namespace penstock {
namespace {

TEST(EngineErrors, AnErrorIsToldAsTheEngineSaidItWhereTheOtherReplicaIsDown) {
  ScriptedEngine broken([](EngineCall& call) { call.Answer(500, R"({"error":{"message":"boom"}})"); });
  auto other = std::make_unique<ScriptedEngine>([](EngineCall& call) { call.Answer(200, R"({"choices":[]})"); });
  TestServer router({broken.url(), other->url()});
  ASSERT_TRUE(router.WaitUp(2));
  other.reset();
  WireMessage answer;
  EXPECT_TRUE(Eventually([&] {
    answer = router.Chat();
    return answer.status() == 500;
  })) << answer.status();
  EXPECT_NE(answer.body.find("boom"), std::string::npos) << answer.body;
}

}  // namespace
}  // namespace penstock
