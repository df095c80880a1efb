#include "router/realtime/upgrade.h"

#include <gtest/gtest.h>

#include <string>

#include "router/openai/request/header_rules.h"

namespace penstock {
namespace {

HeaderList Handshake() {
  return {{"Upgrade", "websocket"},
          {"Connection", "keep-alive, Upgrade"},
          {"Sec-WebSocket-Version", "13"},
          {"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="}};
}

HeaderList Without(const std::string& name) {
  HeaderList fields;
  for (const auto [field, value] : Handshake()) {
    if (field != name) fields.Add(field, value);
  }
  return fields;
}

int StatusOf(const HeaderList& client, bool http10 = false) {
  const auto error = CheckUpgrade(client, http10);
  return error ? error->status : http_status::kSwitchingProtocols;
}

TEST(Upgrade, AHandshakeOfVersion13Passes) {
  EXPECT_EQ(StatusOf(Handshake()), 101);
  HeaderList cased = Without("Upgrade");
  cased.Add("upgrade", "h2c, WebSocket");
  EXPECT_EQ(StatusOf(cased), 101);
}

TEST(Upgrade, AnyOtherRequestIsToldToUpgrade) {
  for (const std::string name : {"Upgrade", "Connection", "Sec-WebSocket-Version"}) {
    EXPECT_EQ(StatusOf(Without(name)), 426) << name;
  }
  EXPECT_EQ(StatusOf(Handshake(), /*http10=*/true), 426);
}

TEST(Upgrade, AKeyIsThereOnceAndHasSixteenBytes) {
  EXPECT_EQ(StatusOf(Without("Sec-WebSocket-Key")), 400);
  HeaderList twice = Handshake();
  twice.Add("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
  EXPECT_EQ(StatusOf(twice), 400);
  for (const std::string key : {"", "short", "dGhlIHNhbXBsZSBub25jZQ=a", "dGhlIHNhbXBsZSBub25jZ!=="}) {
    HeaderList bad = Without("Sec-WebSocket-Key");
    bad.Add("Sec-WebSocket-Key", key);
    EXPECT_EQ(StatusOf(bad), 400) << key;
  }
}

TEST(Upgrade, AKeyAmongTheProtocolsStaysHere) {
  HeaderList client = Handshake();
  client.Add("Sec-WebSocket-Protocol", "realtime, openai-insecure-api-key.sk-1");
  client.Add("Sec-WebSocket-Protocol", "openai-beta.realtime-v1");
  EXPECT_EQ(KeyAmongProtocols(client), "sk-1");
  HeaderList engine;
  AddUpgrade(client, engine);
  EXPECT_EQ(FindHeader(engine, "sec-websocket-protocol"), "realtime, openai-beta.realtime-v1");
  EXPECT_EQ(StatusOf(engine), 101);
  EXPECT_EQ(KeyAmongProtocols(engine), "");
}

TEST(Upgrade, AnEngineAgreesByItsHead) {
  EXPECT_TRUE(AgreesToUpgrade("WebSocket", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
  EXPECT_FALSE(AgreesToUpgrade("h2c", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
  EXPECT_FALSE(AgreesToUpgrade("websocket", ""));
}

}  // namespace
}  // namespace penstock
