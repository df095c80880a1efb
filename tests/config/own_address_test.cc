// A replica at an address of the router itself is refused: each request to it would come back as the next one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "config/text/addresses.h"
#include "tests/config/load_helpers.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kOwn = "is an address of this router, ";

bool IsReached(const std::string& listen, const std::string& url) {
  const absl::StatusOr<ListenAddress> listener = ParseListen(listen);
  const absl::StatusOr<EngineUrl> engine = ParseEngineUrl(url);
  EXPECT_TRUE(listener.ok() && engine.ok()) << listen << " " << url;
  return listener.ok() && engine.ok() && Reaches(*engine, *listener);
}

TEST(OwnAddress, ASamePortOfThisMachineIsReachedHoweverItIsWritten) {
  for (const char* listen : {"127.0.0.1:80", "localhost:80", "[::1]:80", "0.0.0.0:80", "[::]:80", ":80"}) {
    for (const char* url :
         {"http://localhost", "http://LOCALHOST:80/v1", "http://127.0.0.1:80", "http://127.9.9.9", "http://[::1]",
          "http://[0:0::1]:80", "http://[::ffff:127.0.0.1]", "http://0.0.0.0", "https://localhost:80"}) {
      EXPECT_TRUE(IsReached(listen, url)) << listen << " " << url;
    }
    for (const char* url : {"http://localhost:81", "https://localhost", "http://10.0.0.1", "http://engine",
                            "http://[fd00::1]", "unix:/run/e"}) {
      EXPECT_FALSE(IsReached(listen, url)) << listen << " " << url;
    }
  }
}

TEST(OwnAddress, AnotherHostIsReachedUnderItsOwnNameOnly) {
  EXPECT_TRUE(IsReached("10.0.0.1:80", "http://10.0.0.1"));
  EXPECT_TRUE(IsReached("router:80", "http://Router"));
  EXPECT_TRUE(IsReached("[fd00::1]:80", "http://[FD00:0::1]"));
  EXPECT_FALSE(IsReached("10.0.0.1:80", "http://10.0.0.2"));
  EXPECT_FALSE(IsReached("10.0.0.1:80", "http://localhost"));
}

TEST(OwnAddress, ASocketIsReachedByItsPathOnly) {
  EXPECT_TRUE(IsReached("unix:/run/p", "unix:///run/p"));
  EXPECT_FALSE(IsReached("unix:/run/p", "unix:/run/e"));
  EXPECT_FALSE(IsReached("unix:/run/p", "http://localhost"));
  EXPECT_FALSE(IsReached("localhost:80", "unix:/run/p"));
}

TEST(OwnAddress, AReplicaThereIsAFindingAtItsUrl) {
  EXPECT_EQ(FindingsOf("listen: 0.0.0.0:9000\nreplicas: [{url: http://e:9000}, {id: b, url: http://localhost:9000}]\n"),
            "f.yaml:2:47: replicas[1].url: is an address of this router, listen 0.0.0.0:9000; give the address of an "
            "engine");
  EXPECT_THAT(FindingsOf("replicas: [{url: http://127.0.0.1:8080}]\n"), HasSubstr(absl::StrCat(kOwn, "listen ")));
  EXPECT_THAT(FindingsOf("admin_listen: :9100\nreplicas: [{url: http://127.0.0.1:9100}]\n"),
              HasSubstr(absl::StrCat(kOwn, "admin_listen :9100")));
  EXPECT_THAT(FindingsOf("listen: unix:/run/p\nreplicas: [{url: unix:/run/p}]\n"), HasSubstr(kOwn));
  EXPECT_THAT(FindingsOf("replicas: [{url: http://127.0.0.1:8081}]\n"), IsEmpty());
}

TEST(OwnAddress, TheListenOfTheCommandLineStandsInForThatOfTheFile) {
  const std::string file = "listen: 127.0.0.1:9000\nreplicas: [{url: http://127.0.0.1:9001}]\n";
  LoadOptions options;
  options.listen = "127.0.0.1:9001";
  EXPECT_THAT(std::string(ParseConfig(file, "f.yaml", options).status().message()), HasSubstr(kOwn));
  options.listen = "127.0.0.1:9002";
  const absl::StatusOr<Config> config =
      ParseConfig("listen: 127.0.0.1:9001\nreplicas: [{url: http://127.0.0.1:9001}]\n", "f.yaml", options);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->listen, "127.0.0.1:9002");
}

TEST(OwnAddress, AReplicaOfTheCommandLineIsCheckedToo) {
  const absl::StatusOr<Config> config = ConfigFromUrls(":9000", {"http://e:9000", "http://localhost:9000"});
  EXPECT_THAT(std::string(config.status().message()),
              HasSubstr("--replica: http://localhost:9000 is the address of this router, --listen :9000"));
  EXPECT_TRUE(ConfigFromUrls(":9000", {"http://localhost:9001"}).ok());
}

}  // namespace
}  // namespace penstock
