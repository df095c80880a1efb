// The commonest mistakes in a configuration, each with the way out in its finding.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "config/config.h"
#include "config/text/findings.h"
#include "tests/config/load_helpers.h"
#include "tests/source_dir.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string MessageOf(const std::string& yaml) { return FindingsOf(yaml); }
std::string MessageOfFile(const std::string& path) { return std::string(LoadConfigFile(path).status().message()); }

const char kReplicas[] = "replicas: [{url: http://127.0.0.1:8000}]\n";

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
