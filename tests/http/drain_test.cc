// The end of the router: running requests finish or end with an error, and new requests are refused.
#include <gtest/gtest.h>

#include <string>

#include "tests/http/test_server.h"

namespace penstock {
namespace {

TEST(Drain, TheAdminListenerTellsOfADrain) {
  Latch began, go;
  ScriptedEngine engine([&](EngineCall& call) { HoldStream(call, began, go); });
  TestServer router({engine.url()}, [](Config& config) { config.admin_listen = "127.0.0.1:0"; });
  ASSERT_TRUE(router.WaitUp());
  const std::string admin = router.server->admin_address();
  const auto ask = [port = static_cast<uint16_t>(std::stoi(admin.substr(admin.rfind(':') + 1)))](const char* path) {
    const auto wire = Wire::Connect(port);
    if (wire == nullptr) return WireMessage();
    wire->Send(Get(path));
    return ReadMessage(*wire);
  };
  EXPECT_EQ(ask("/readyz").status(), 200);
  const auto client = router.Connect();
  client->Send(StreamRequest());
  ASSERT_TRUE(began.Wait());
  router.server->BeginDrain();
  EXPECT_TRUE(Eventually([&] { return Wire::Connect(router.server->port()) == nullptr; }));
  EXPECT_EQ(ask("/readyz").status(), 503);
  EXPECT_NE(ask("/metrics").body.find("penstock_draining 1"), std::string::npos);
  go.Set();
  EXPECT_TRUE(ReadMessage(*client).complete);
  EXPECT_TRUE(router.server->Drain(Duration::Seconds(10)));
  router.server->Stop();
  EXPECT_EQ(ask("/readyz").start, "");
}

TEST(Drain, DrainingLetsStreamsFinishAndRefusesNewOnes) {
  Latch began, go;
  ScriptedEngine engine([&](EngineCall& call) { HoldStream(call, began, go); });
  TestServer router({engine.url()});
  ASSERT_TRUE(router.WaitUp());
  const auto other = router.Connect();
  other->Send(Get("/healthz"));
  ASSERT_EQ(ReadMessage(*other).status(), 200);
  const auto client = router.Connect();
  client->Send(StreamRequest());
  ASSERT_TRUE(began.Wait());
  router.server->BeginDrain();
  EXPECT_TRUE(other->WaitClosed());
  EXPECT_TRUE(Eventually([&] { return Wire::Connect(router.server->port()) == nullptr; }));
  EXPECT_EQ(router.server->active_requests(), 1);
  go.Set();
  EXPECT_TRUE(ReadMessage(*client).complete);
  EXPECT_TRUE(router.server->Drain(Duration::Seconds(10)));
}

TEST(Drain, ADrainThatTakesTooLongSaysSo) {
  Latch began;
  ScriptedEngine engine([&](EngineCall& call) {
    call.BeginStream();
    call.Event(DeltaJson("w"));
    began.Set();
    call.wire.WaitClosed();
  });
  TestServer router({engine.url()});
  ASSERT_TRUE(router.WaitUp());
  const auto client = router.Connect();
  client->Send(StreamRequest());
  ASSERT_TRUE(began.Wait());
  EXPECT_FALSE(router.server->Drain(Duration::Milliseconds(50)));
  router.server->Stop();
  EXPECT_EQ(router.book.Of<RequestClosed>().size(), 1u);
}

TEST(Drain, AStreamThatOutlivesTheDrainEndsWithOneError) {
  ScriptedEngine engine([&](EngineCall& call) {
    call.BeginStream();
    call.Event(DeltaJson("w"));
    call.wire.WaitClosed();
  });
  TestServer router({engine.url()});
  ASSERT_TRUE(router.WaitUp());
  const auto client = router.Connect();
  client->Send(StreamRequest());
  ASSERT_NE(client->ReadUntil(DeltaJson("w")), std::string::npos);
  EXPECT_FALSE(router.server->Drain(Duration::Milliseconds(20)));
  router.server->Stop();
  const WireMessage answer = ReadMessage(*client);
  EXPECT_TRUE(answer.complete);
  const size_t error = answer.body.find("data: {\"error\":{");
  ASSERT_NE(error, std::string::npos) << answer.body;
  EXPECT_EQ(answer.body.find("\"error\"", error + 15), std::string::npos);
  EXPECT_NE(answer.body.find("shutting down", error), std::string::npos);
  EXPECT_NE(answer.body.find("data: [DONE]\n\n", error), std::string::npos);
  ASSERT_EQ(router.book.Of<RequestClosed>().size(), 1u);
  EXPECT_EQ(router.server->active_requests(), 0);
  EXPECT_EQ(router.server->cut_requests(), 1);
}

TEST(Drain, ARequestWhoseEngineHasFinishedIsNotCut) {
  Latch finished, go;
  ScriptedEngine engine([&](EngineCall& call) {
    call.BeginStream();
    call.Event(DeltaJson("w"));
    call.Event(FinishJson());
    call.Chunk("data: [DONE]\n\n");
    finished.Set();
    go.Wait();  // The last chunk of its body never comes.
  });
  TestServer router({engine.url()});
  ASSERT_TRUE(router.WaitUp());
  const auto client = router.Connect();
  client->Send(StreamRequest());
  ASSERT_TRUE(finished.Wait());
  ASSERT_NE(client->ReadUntil("[DONE]"), std::string::npos);
  router.server->Stop();
  EXPECT_EQ(client->buffer().find("error"), std::string::npos);
  EXPECT_EQ(router.server->cut_requests(), 0);
  go.Set();
}

TEST(Drain, WhatStillWaitsWhenTheDrainEndsIsRefused) {
  Latch asked;
  ScriptedEngine engine([&](EngineCall& call) {
    asked.Set();
    call.wire.WaitClosed();
  });
  TestServer router({engine.url()});
  ASSERT_TRUE(router.WaitUp());
  const auto silent = router.Connect(), parked = router.Connect();
  silent->Send(PostJson("/v1/chat/completions", ChatBody()));
  ASSERT_TRUE(asked.Wait());
  router.orders.hold = true;
  parked->Send(StreamRequest());
  ASSERT_TRUE(Eventually([&] { return router.server->active_requests() == 2; }));
  EXPECT_FALSE(router.server->Drain(Duration::Milliseconds(20)));
  router.server->Stop();
  for (Wire* client : {silent.get(), parked.get()}) {
    const WireMessage answer = ReadMessage(*client);
    EXPECT_EQ(answer.status(), 503);
    EXPECT_EQ(answer.headers.at("x-penstock-reason"), "shutting_down");
    EXPECT_TRUE(answer.complete);
  }
}

}  // namespace
}  // namespace penstock
