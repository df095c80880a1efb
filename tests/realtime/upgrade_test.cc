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
  client.Add("Sec-WebSocket-Protocol", "openai-beta.realtime-v1, no protocol openai-insecure-api-key.sk-2");
  EXPECT_EQ(KeyAmongProtocols(client), "sk-1");
  HeaderList engine;
  AddUpgrade(client, engine);
  EXPECT_EQ(FindHeader(engine, "sec-websocket-protocol"), "realtime, openai-beta.realtime-v1");
  EXPECT_EQ(StatusOf(engine), 101);
  EXPECT_EQ(KeyAmongProtocols(engine), "");
}

// The answer to Handshake(), with the accept of RFC 6455, section 1.3.
HeaderList Answer(const std::string& more = "", const std::string& value = "") {
  HeaderList answer = {
      {"Upgrade", "WebSocket"}, {"Connection", "Upgrade"}, {"Sec-WebSocket-Accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="}};
  if (!more.empty()) answer.Add(more, value);
  return answer;
}

TEST(Upgrade, AnEngineAgreesByItsHead) {
  EXPECT_TRUE(AgreesToUpgrade(Handshake(), Answer()));
  for (const std::string accept : {"", "AAAA", "S3PPLMBITXAQ9KYGZZHZRBK+XOO=", "dGhlIHNhbXBsZSBub25jZQ=="}) {
    EXPECT_FALSE(AgreesToUpgrade(Handshake(), {{"upgrade", "websocket"}, {"sec-websocket-accept", accept}})) << accept;
  }
  EXPECT_FALSE(AgreesToUpgrade(Handshake(), {{"upgrade", "websocket"}}));
  EXPECT_FALSE(
      AgreesToUpgrade(Handshake(), {{"upgrade", "h2c"}, {"sec-websocket-accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="}}));
  EXPECT_FALSE(AgreesToUpgrade(Handshake(), Answer("sec-websocket-accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")));
}

TEST(Upgrade, AnEngineChoosesOnlyWhatWasOffered) {
  const std::string protocol = "Sec-WebSocket-Protocol";
  const std::string extensions = "Sec-WebSocket-Extensions";
  EXPECT_FALSE(AgreesToUpgrade(Handshake(), Answer(protocol, "realtime")));
  EXPECT_FALSE(AgreesToUpgrade(Handshake(), Answer(extensions, "permessage-deflate")));
  HeaderList client = Handshake();
  client.Add(protocol, "realtime, openai-insecure-api-key.sk-1, v1");
  client.Add(extensions, "permessage-deflate; client_max_window_bits, x-a");
  client.Add(extensions, "x-b");
  HeaderList asked;
  AddUpgrade(client, asked);
  EXPECT_TRUE(AgreesToUpgrade(asked, Answer()));
  for (const std::string chosen : {"realtime", "v1"}) EXPECT_TRUE(AgreesToUpgrade(asked, Answer(protocol, chosen)));
  for (const std::string chosen : {"", "Realtime", "other", "realtime, v1", "openai-insecure-api-key.sk-1"}) {
    EXPECT_FALSE(AgreesToUpgrade(asked, Answer(protocol, chosen))) << chosen;
  }
  HeaderList twice = Answer(protocol, "v1");
  twice.Add(protocol, "v1");
  EXPECT_FALSE(AgreesToUpgrade(asked, twice));
  for (const std::string chosen :
       {"permessage-deflate", "Permessage-Deflate; server_no_context_takeover", "x-b, x-a"}) {
    EXPECT_TRUE(AgreesToUpgrade(asked, Answer(extensions, chosen))) << chosen;
  }
  EXPECT_FALSE(AgreesToUpgrade(asked, Answer(extensions, "x-a, x-c")));
}

}  // namespace
}  // namespace penstock
