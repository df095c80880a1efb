// One address has several spellings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/config/load_helpers.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(AddressSpellings, TwoListenersHaveTwoAddresses) {
  const std::string both = "is the address of listen; leave it out to have both on one listener";
  EXPECT_THAT(FindingsOf(WithReplica("listen: 127.0.0.1:80\nadmin_listen: 127.0.0.1:80\n")), HasSubstr(both));
  EXPECT_THAT(FindingsOf(WithReplica("listen: unix:/run/p\nadmin_listen: unix:///run/p\n")), HasSubstr(both));
  const std::pair<std::string, std::string> collisions[] = {
      {"localhost:80", "127.0.0.1:80"},  {"127.0.0.1:80", "LOCALHOST:80"},
      {"0.0.0.0:80", "127.0.0.1:80"},    {"127.0.0.2:80", ":80"},
      {"'[::]:80'", "127.0.0.1:80"},     {"'[::]:80'", ":80"},
      {"'[0::1]:80'", "'[::1]:80'"},     {"'[::ffff:10.0.0.1]:80'", "10.0.0.1:80"},
      {"localhost:80", "'[::1]:80'"},    {"localhost:80", "0.0.0.0:80"},
      {"'[::]:80'", "somewhere:80"},     {"127.1:80", "127.0.0.1:80"},
      {"localhost.:80", "127.0.0.1:80"}, {"0:80", "127.0.0.1:80"}};
  for (const auto& [listen, admin] : collisions) {
    for (const auto& [first, second] : {std::pair(listen, admin), std::pair(admin, listen)}) {
      const std::string yaml = absl::StrCat("listen: ", first, "\nadmin_listen: ", second, "\n");
      EXPECT_THAT(FindingsOf(WithReplica(yaml)), HasSubstr(", or a part of it; leave it out")) << yaml;
    }
  }
  const std::pair<std::string, std::string> apart[] = {
      {"127.0.0.1:80", "127.0.0.2:80"}, {"0.0.0.0:80", "127.0.0.1:81"}, {"0.0.0.0:80", "'[::1]:80'"},
      {"0.0.0.0:0", "127.0.0.1:0"},     {"here:80", "there:80"},        {"0.0.0.0:80", "somewhere:80"}};
  for (const auto& [listen, admin] : apart) {
    const std::string yaml = absl::StrCat("listen: ", listen, "\nadmin_listen: ", admin, "\n");
    EXPECT_THAT(FindingsOf(WithReplica(yaml)), IsEmpty()) << yaml;
  }
  EXPECT_THAT(FindingsOf(WithReplica("listen: 127.0.0.1:0\nadmin_listen: 127.0.0.1:0\n")), IsEmpty());
  EXPECT_THAT(FindingsOf(WithReplica("listen: unix:/run/p\nadmin_listen: 127.0.0.1:80\n")), IsEmpty());
  EXPECT_THAT(FindingsOf(WithReplica("listen: unix:p\n")), HasSubstr("listen: \"unix:p\" needs an absolute path"));
}

TEST(AddressSpellings, AHostHasNoMoreThan254Characters) {
  EXPECT_THAT(FindingsOf(WithReplica("listen: " + std::string(254, 'x') + ":80\n")), IsEmpty());
  EXPECT_THAT(FindingsOf(WithReplica("listen: " + std::string(255, 'x') + ":80\n")),
              HasSubstr("has a host of more than 254 characters"));
  EXPECT_THAT(FindingsOf("replicas: [{url: 'http://" + std::string(255, 'x') + "'}]\n"),
              HasSubstr("has a host of more"));
}

TEST(AddressSpellings, AUrlInAnotherSpellingIsTheSameEngine) {
  const std::pair<const char*, const char*> same[] = {{"http://localhost:8000", "http://127.0.0.1:8000"},
                                                      {"http://Host:80", "http://host"},
                                                      {"http://[::1]:8000", "http://[0:0::1]:8000"},
                                                      {"http://[::ffff:10.0.0.1]:1", "http://10.0.0.1:1"},
                                                      {"http://0.0.0.0:8000", "http://LOCALHOST:8000"},
                                                      {"http://host.:1", "http://host:1/v1"},
                                                      {"http://127.1:1", "http://localhost.:1"},
                                                      {"http://0x7f000001:1", "http://127.0.0.1:1"},
                                                      {"unix:/run/./a", "unix:/run//a"}};
  const auto findings = [](const char* first, const char* second) {
    return FindingsOf(absl::StrCat("replicas: [{url: '", first, "'}, {url: '", second, "'}]\n"));
  };
  for (const auto& [first, second] : same) {
    EXPECT_THAT(findings(first, second), HasSubstr("duplicate url, already the engine of replicas[0]")) << first;
    EXPECT_THAT(std::string(ConfigFromUrls("", {first, second}).status().message()), HasSubstr("is given twice"));
  }
  const std::pair<const char*, const char*> others[] = {{"http://127.0.0.1:8000", "http://127.0.0.2:8000"},
                                                        {"http://localhost:8000", "http://localhost:8001"},
                                                        {"http://h:1/a", "http://h:1/b"},
                                                        {"unix:/run/a", "unix:/run/b"}};
  for (const auto& [first, second] : others) {
    EXPECT_THAT(findings(first, second), Not(HasSubstr("duplicate url"))) << first;
  }
}

}  // namespace
}  // namespace penstock
