#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "config/certificate_warnings.h"
#include "config/values/certificate_validity.h"
#include "tests/config/load_helpers.h"
#include "tests/source_dir.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The time of the certificates in tests/data/tls: from 2026-11-21 13:44:17 to 2126-10-28 13:44:17 UTC.
constexpr int64_t kBegins = 1795268657;
constexpr int64_t kEnds = 4948868657;
constexpr int64_t kDay = 86'400;

std::string Identity(const std::string& name) {
  const std::string base = SourcePath("tests/data/tls/" + name);
  return "{certificate: " + base + ".pem, key: " + base + ".key}";
}

TEST(Certificates, AreValidForTheTimeThatTheyName) {
  const Config config = Parsed(WithReplica("tls: " + Identity("server") + "\n"));
  const auto valid = ValidityOf(config.tls->certificate);
  ASSERT_TRUE(valid);
  EXPECT_EQ(valid->begins, kBegins);
  EXPECT_EQ(valid->ends, kEnds);
  EXPECT_FALSE(ValidityOf(PemFile{"x", "no certificate"}));
}

TEST(Certificates, ThatExpiredOrBeginLaterOrEndSoonAreWarnedOf) {
  const Config config = Parsed(WithReplica("tls: " + Identity("server") + "\n"));
  const std::string head = "tls.certificate: the certificate in " + SourcePath("tests/data/tls/server.pem");
  EXPECT_THAT(CertificateWarnings(config, kEnds + 1),
              ElementsAre(head + " has expired: it ended on Oct 28 13:44:17 2126 GMT"));
  EXPECT_THAT(CertificateWarnings(config, kBegins - 1),
              ElementsAre(head + " is not valid before Nov 21 13:44:17 2026 GMT"));
  EXPECT_THAT(CertificateWarnings(config, kEnds - 14 * kDay + 1),
              ElementsAre(head + " ends in 13 days, on Oct 28 13:44:17 2126 GMT"));
  EXPECT_THAT(CertificateWarnings(config, kEnds - 14 * kDay), IsEmpty());
  EXPECT_THAT(CertificateWarnings(config, kBegins), IsEmpty());
}

TEST(Certificates, OfTheAdminListenerAndOfEnginesAreWarnedOfToo) {
  const Config config = Parsed("replicas: [{id: a, url: \"https://h:1\", tls: " + Identity("client") +
                               "}]\nadmin_listen: 127.0.0.1:2\nadmin_tls: " + Identity("server") + "\n");
  const std::string ended = " has expired: it ended on Oct 28 13:44:17 2126 GMT";
  EXPECT_THAT(CertificateWarnings(config, kEnds + 1), ElementsAre("admin_tls.certificate: the certificate in " +
                                                                      SourcePath("tests/data/tls/server.pem") + ended,
                                                                  "replicas: a: tls.certificate: the certificate in " +
                                                                      SourcePath("tests/data/tls/client.pem") + ended));
}

TEST(Certificates, OfAChainTheShortestTimeCounts) {
  const Config config = Parsed(WithReplica("tls: " + Identity("server") + "\n"));
  const std::string& one = config.tls->certificate.text;
  const auto valid = ValidityOf(PemFile{"chain", one + "text between\n" + one});
  ASSERT_TRUE(valid);
  EXPECT_EQ(valid->ends, kEnds);
}

// A file in a folder that ends with the test.
class MadeFile {
 public:
  explicit MadeFile(const std::string& text) {
    std::string folder = ::testing::TempDir() + "penstock-XXXXXX";
    EXPECT_NE(mkdtemp(folder.data()), nullptr);
    path_ = folder + "/made.pem";
    std::ofstream(path_) << text;
  }
  ~MadeFile() { std::filesystem::remove_all(std::filesystem::path(path_).parent_path()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(Certificates, AnEmptyFileIsNoFileThatWasLeftOut) {
  const MadeFile empty("");
  const std::string known = SourcePath("tests/data/tls/server");
  const std::string tls = "certificate: " + known + ".pem, key: " + known + ".key";
  const auto has = [&](const std::string& key) { return HasSubstr(key + ": " + empty.path() + " is empty"); };
  EXPECT_THAT(FindingsOf(WithReplica("tls: {" + tls + ", client_ca: " + empty.path() + "}\n")), has("tls.client_ca"));
  EXPECT_THAT(FindingsOf(WithReplica("tls: {certificate: " + empty.path() + ", key: " + known + ".key}\n")),
              has("tls.certificate"));
  EXPECT_THAT(FindingsOf("replicas: [{id: a, url: \"https://h:1\", tls: {ca: " + empty.path() + "}}]\n"),
              has("replicas[0].tls.ca"));
  EXPECT_THAT(FindingsOf("replicas: [{id: a, url: \"https://h:1\", tls: {certificate: " + empty.path() +
                         ", key: " + known + ".key}}]\n"),
              has("replicas[0].tls.certificate"));
}

TEST(Certificates, AKeyThatListenersRefuseIsAFinding) {
  const std::string weak = SourcePath("tests/data/tls/weak");
  EXPECT_THAT(FindingsOf(WithReplica("tls: {certificate: " + weak + ".pem, key: " + weak + ".key}\n")),
              HasSubstr("tls.key: " + weak + ".key is too weak: 1024 bits"));
}

}  // namespace
}  // namespace penstock
