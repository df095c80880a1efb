// The commonest mistakes in a configuration, each with the way out in its finding.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "config/config.h"
#include "config/text/findings.h"
#include "tests/config/load_helpers.h"
#include "tests/source_dir.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

std::string MessageOf(const std::string& yaml) { return FindingsOf(yaml); }
std::string MessageOfFile(const std::string& path) { return std::string(LoadConfigFile(path).status().message()); }

const char kReplicas[] = "replicas: [{url: http://127.0.0.1:8000}]\n";

TEST(Mistakes, AFileMayBeLongButNotEndless) {
  const std::string path = ::testing::TempDir() + "/long.yaml";
  const auto load = [&path](size_t size) {
    std::ofstream(path) << "listen: 127.0.0.1:1\n" << kReplicas << '#' << std::string(size, 'x') << '\n';
    return MessageOfFile(path);
  };
  EXPECT_EQ(load(20 << 20), "");
  EXPECT_THAT(load(32 << 20), AllOf(HasSubstr("is larger than 32 MiB, the most of a configuration"),
                                    HasSubstr("keys without limits of their own can share a tenant")));
  std::filesystem::remove(path);
}

TEST(Mistakes, AnEmptyPathIsNone) {
  EXPECT_THAT(MessageOf(WithReplica("state: {path: \"\"}\n")), HasSubstr("state.path: must not be empty"));
  EXPECT_THAT(MessageOf(WithReplica("log: {path: \"\"}\n")), HasSubstr("log.path: must not be empty"));
}

TEST(Mistakes, AKindThatNeedsItsMemoryGetsBothOffers) {
  EXPECT_THAT(MessageOf("gpus: [{id: g, kind: a100}]\n" + std::string(kReplicas)),
              HasSubstr("unknown name \"a100\" (did you mean \"a100-40\" or \"a100-80\"?)"));
}

TEST(Mistakes, OfVeryManyTheFirstAreShownAndTheOthersCounted) {
  std::string yaml = std::string(kReplicas) + "tenants: [";
  for (int i = 0; i < 5000; ++i) yaml += "7, ";
  const std::string said = MessageOf(yaml + "7]\n");
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), static_cast<long>(Findings::kMost));
  EXPECT_THAT(said, HasSubstr("\nf.yaml: and "));
}

std::string Repeated(int times, const std::function<std::string(int)>& entry) {
  std::string text;
  for (int i = 0; i < times; ++i) text += entry(i);
  return text;
}

TEST(Mistakes, AListThatIsTooLongNamesItsLimit) {
  const std::string many = Repeated(10'001, [](int) { return "{}, "; });
  for (const char* list : {"gpus", "models", "adapters", "nodes", "routes"}) {
    EXPECT_THAT(MessageOf(kReplicas + std::string(list) + ": [" + many + "]\n"),
                HasSubstr(std::string(list) + ": has 10001 entries, more than 10000"))
        << list;
  }
  EXPECT_THAT(MessageOf("replicas: [" + many + "]\n"), HasSubstr("replicas: has 10001 entries, more than 10000"));
}

TEST(Mistakes, AValueThatIsTooLongToQuoteIsCut) {
  const std::string message = MessageOf(kReplicas + ("listen: " + std::string(1'000'000, 'x') + ":1\n"));
  EXPECT_THAT(message, HasSubstr("listen: \"xxxx"));
  EXPECT_THAT(message, EndsWith("xxx..."));
  EXPECT_LT(message.size(), 10'000);
}

TEST(Mistakes, AMappingWithTooManyNamesNamesItsLimit) {
  const auto classes = [](int count) {
    return kReplicas + std::string("classes:\n") +
           Repeated(count, [](int i) { return "  c" + std::to_string(i) + ": {ttft: 1s, tpot: 1s, queue: 1m}\n"; });
  };
  EXPECT_EQ(MessageOf(classes(100)), "");
  EXPECT_THAT(MessageOf(classes(101)), HasSubstr("classes: has 101 entries, more than 100"));
  const std::string names = Repeated(10'001, [](int i) { return "m" + std::to_string(i) + ": x, "; });
  EXPECT_THAT(MessageOf(kReplicas + std::string("trace: {models: {") + names + "}}\n"),
              HasSubstr("trace.models: has 10001 entries, more than 10000"));
}

TEST(Mistakes, AKeyIsFoundAmongManyAndTheirListIsCut) {
  const std::string gpus =
      "gpus:\n" + Repeated(150, [](int i) { return "  - {id: g" + std::to_string(i) + ", kind: h100}\n"; });
  const std::string said = MessageOf(gpus + "replicas: [{url: http://127.0.0.1:8000, gpus: [none]}]\n");
  EXPECT_THAT(said, HasSubstr("g99 and 50 more"));
  const std::string keys = Repeated(500, [](int i) { return "k" + std::to_string(i) + ": 1\n"; });
  EXPECT_THAT(MessageOf(kReplicas + keys + "k123: 2\n"), HasSubstr("k123: duplicate key, first in line 125"));
}

TEST(Mistakes, ManyLongerNamesAreNoOffer) {
  EXPECT_EQ(Suggestion("max", {"max_a", "max_b", "max_c", "max_d"}), "");
  EXPECT_EQ(Suggestion("ma", {"max_a"}), "");
}

TEST(Mistakes, TwoLettersThatChangedPlacesAreOneEdit) {
  EXPECT_EQ(Suggestion("chekc", {"serve", "check"}), " (did you mean \"check\"?)");
  EXPECT_EQ(Suggestion("ehckc", {"serve", "check"}), "");
}

TEST(Mistakes, ABarePortGetsTheTwoUsualAddresses) {
  EXPECT_THAT(
      MessageOf("listen: 8080\n" + std::string(kReplicas)),
      HasSubstr("f.yaml:1:9: listen: \"8080\" is a port without an address; give 127.0.0.1:8080 for this machine "
                "only, or 0.0.0.0:8080 for every interface"));
}

TEST(Mistakes, AUrlWithoutASchemeGetsOne) {
  EXPECT_THAT(MessageOf("replicas: [{url: 127.0.0.1:8000}]\n"), HasSubstr("; did you mean http://127.0.0.1:8000?"));
  EXPECT_THAT(MessageOf("replicas: [{url: localhost:8000/v1}]\n"), HasSubstr("did you mean http://localhost:8000/v1?"));
  EXPECT_THAT(MessageOf("replicas: [{url: nonsense}]\n"), Not(HasSubstr("did you mean")));
  EXPECT_THAT(MessageOf("replicas: [{url: \"ftp://h:1\"}]\n"), Not(HasSubstr("did you mean")));
}

TEST(Mistakes, ATabThatIndentsIsNamedInItsLine) {
  const char tabs[] = "f.yaml:2:1: not valid YAML: a tab indents this line; indent with spaces";
  EXPECT_EQ(MessageOf("replicas:\n\t- url: http://127.0.0.1:8000\n"), tabs);
  EXPECT_THAT(MessageOf("replicas:\n  - url: http://127.0.0.1:8000\n\t  id: c\n"), HasSubstr("f.yaml:3:1: not valid"));
}

TEST(Mistakes, AVariableInBracketsWithoutQuotesGetsThem) {
  const std::string hint = "not valid YAML: inside of [ ] and { }, a variable needs quotes: \"${NAME}\"";
  EXPECT_EQ(MessageOf("replicas: [{url: http://127.0.0.1:8000, key: ${HOME}}]\n"), "f.yaml:1:46: " + hint);
  EXPECT_EQ(MessageOf("admin_keys: [${HOME}]\n"), "f.yaml:1:14: " + hint);
  EXPECT_EQ(MessageOf("replicas:\n  - {url: http://127.0.0.1:8000,\n     key: ${HOME}}\n"), "f.yaml:3:11: " + hint);
  for (const char* other : {"listen: [\"${HOME}\"\n", "listen: [1 # ${HOME}\n", "log: ${HOME}\nlisten: [1\n"}) {
    EXPECT_THAT(MessageOf(other), Not(HasSubstr("needs quotes"))) << other;
  }
}

TEST(Mistakes, AnUnsetVariableSaysWhereItIsSet) {
  EXPECT_THAT(MessageOf("replicas: [{url: http://127.0.0.1:8000, key: \"${PENSTOCK_NO_SUCH}\"}]\n"),
              HasSubstr("environment variable \"PENSTOCK_NO_SUCH\" is not set or empty; set it where penstock starts"));
}

TEST(Mistakes, AVariableWithoutBracesIsNotTakenForTheSecret) {
  for (const char* key : {"$TEAM_KEY", "$KEY2", "$key"}) {
    EXPECT_THAT(MessageOf(std::string("replicas: [{url: http://127.0.0.1:8000, key: ") + key + "}]\n"),
                HasSubstr("replicas[0].key: is a variable without braces: write it as ${NAME}"));
  }
  EXPECT_EQ(MessageOf("replicas: [{url: http://127.0.0.1:8000, model: m, key: \"$ecret-pa$$\"}]\n"), "");
}

TEST(Mistakes, AStrangePrefixIsNotTakenForTheSecret) {
  for (const char* key : {"env:TEAM_KEY", "ENV:TEAM_KEY", "File:team.key", "SHA256:0123"}) {
    EXPECT_THAT(MessageOf(std::string("replicas: [{url: http://127.0.0.1:8000, key: ") + key + "}]\n"),
                HasSubstr("replicas[0].key: begins with a prefix that is not known here: write ${NAME} or file:PATH"));
    EXPECT_THAT(FindingsOf(WithReplica(std::string("tenants: [{name: a, keys: [\"") + key + "\"]}]\n")),
                HasSubstr("begins with a prefix that is not known here"));
  }
  EXPECT_EQ(MessageOf("replicas: [{url: http://127.0.0.1:8000, model: m, key: environment}]\n"), "");
}

TEST(Mistakes, AnEmptyListOfTenantsOpensNothing) {
  EXPECT_THAT(FindingsOf(WithReplica("tenants: []\n")), HasSubstr("tenants: must not be empty"));
}

TEST(Mistakes, ADuplicateNameNamesTheFirst) {
  EXPECT_THAT(MessageOf("replicas: [{id: a, url: http://127.0.0.1:1}, {id: a, url: http://127.0.0.1:2}]\n"),
              HasSubstr("duplicate id \"a\", first used by replicas[0]"));
}

TEST(Mistakes, AMissingFileNamesItsNeighbour) {
  const std::string folder = SourcePath("config/examples");
  EXPECT_THAT(MessageOfFile(folder + "/smalest.yaml"),
              AllOf(HasSubstr("No such file or directory"), HasSubstr("did you mean"), HasSubstr("smallest.yaml")));
  EXPECT_THAT(MessageOfFile("/no-such-folder/penstock.yaml"), Not(HasSubstr("did you mean")));
}

TEST(Mistakes, AFolderNamesTheFileInIt) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "penstock-mistakes";
  std::filesystem::create_directories(folder);
  EXPECT_THAT(MessageOfFile(folder.string()), HasSubstr("is a directory; name a file in it"));
  std::ofstream(folder / "only.yaml") << kReplicas;
  EXPECT_THAT(MessageOfFile(folder.string()), HasSubstr("such as " + (folder / "only.yaml").string()));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace penstock
