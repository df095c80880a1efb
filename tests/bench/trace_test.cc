#include "bench/traces/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/source_dir.h"

namespace penstock::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kPlain[] =
    "arrival_s,model,tenant,prompt_tokens,output_tokens\n"
    "0.000,,azure-conv,374,44\n"
    "4.315,m,azure-conv,396,109\n";

class TraceFile : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              (std::string("trace_") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Plain(const std::string& text) {
    const std::string path = (folder_ / "t.csv").string();
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  std::string Gzip(const std::string& text) {
    const std::string path = (folder_ / "t.csv.gz").string();
    gzFile file = gzopen(path.c_str(), "wb");
    gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
    gzclose(file);
    return path;
  }
  std::string ErrorOf(const std::string& text) {
    const auto trace = ReadTrace(Plain(text));
    return trace.ok() ? "no error" : std::string(trace.status().message());
  }

  std::filesystem::path folder_;
};

TEST_F(TraceFile, RowsOfAPlainFileAreRead) {
  const auto trace = ReadTrace(Plain(kPlain));

  ASSERT_TRUE(trace.ok()) << trace.status();
  ASSERT_THAT(trace->requests, SizeIs(2));
  const TraceRequest expected{Duration::Seconds(4.315), "m", "azure-conv", Tokens(396), Tokens(109), {}, 3};
  EXPECT_EQ(trace->requests[1], expected);
  EXPECT_EQ(trace->length, Duration::Seconds(4.315));
}

TEST_F(TraceFile, AGzipFileReadsAsItsContent) {
  const auto plain = ReadTrace(Plain(kPlain));
  const auto gzip = ReadTrace(Gzip(kPlain));

  ASSERT_TRUE(gzip.ok()) << gzip.status();
  EXPECT_EQ(gzip->requests, plain->requests);
}

TEST_F(TraceFile, AStatedLimitIsReadAndMayBeEmpty) {
  const std::string header = "arrival_s,model,tenant,prompt_tokens,output_tokens,max_output\n";
  const auto trace = ReadTrace(Plain(header + "0,,t,600,100,20\n1,,t,1,1,\n2,,t,1,1,0\n"));
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_EQ(trace->requests[0].max_output, Tokens(20));
  EXPECT_EQ(trace->requests[1].max_output, Tokens(0));
  EXPECT_EQ(trace->requests[2].max_output, Tokens(0));
  EXPECT_THAT(ErrorOf(header + "0,,t,1,1,x\n"), HasSubstr("max_output"));
}

TEST_F(TraceFile, AClientMayGoAway) {
  const std::string header = "arrival_s,model,tenant,prompt_tokens,output_tokens,gone_after_s\n";
  const auto trace = ReadTrace(Plain(header + "0,,t,600,100,2.5\n1,,t,1,1,\n2,,t,1,1,0\n"));
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_EQ(trace->requests[0].gone_after, Duration::Seconds(2.5));
  EXPECT_EQ(trace->requests[1].gone_after, std::nullopt);
  EXPECT_EQ(trace->requests[2].gone_after, Duration());
  EXPECT_THAT(ErrorOf(header + "0,,t,1,1,-1\n"), HasSubstr("gone_after_s: \"-1\" is not a number of seconds"));
}

TEST_F(TraceFile, SessionsAndShapesAreNamesThatMayBeEmpty) {
  const auto trace = ReadTrace(Plain(
      "arrival_s,model,tenant,prompt_tokens,output_tokens,shape,session\n0,,t,600,100,extract,s 1\n1,,t,1,1,,\n"));
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_EQ(trace->requests[0].session, "s 1");
  EXPECT_EQ(trace->requests[0].shape, "extract");
  EXPECT_EQ(trace->requests[1].session, "");
  EXPECT_EQ(trace->requests[1].shape, "");
}

TEST_F(TraceFile, PrefixHashesOfALongLineAreRead) {
  std::string text = "arrival_s,model,tenant,prompt_tokens,output_tokens,prefix_hashes\n0.0,,,600000,5,";
  for (int i = 0; i < 60'000; ++i) text += (i ? ";" : "") + std::to_string(1'000'000 + i);
  text += "\n1.0,,,5,1,\n";

  const auto trace = ReadTrace(Gzip(text));

  ASSERT_TRUE(trace.ok()) << trace.status();
  ASSERT_THAT(trace->requests[0].prefix_hashes, SizeIs(60'000));
  EXPECT_EQ(trace->requests[0].prefix_hashes.back(), 1'059'999u);
  EXPECT_THAT(trace->requests[1].prefix_hashes, IsEmpty());
}

TEST_F(TraceFile, WindowsLineEndsAndAMissingLastLineEndAreAccepted) {
  const auto trace = ReadTrace(Plain("arrival_s,model,tenant,prompt_tokens,output_tokens\r\n0,,,1,1\r\n1,,,2,3"));

  ASSERT_TRUE(trace.ok()) << trace.status();
  ASSERT_THAT(trace->requests, SizeIs(2));
  EXPECT_EQ(trace->requests[1].output, Tokens(3));
}

TEST_F(TraceFile, TheClassColumnComesBeforeOrAfterThePrefixHashes) {
  const std::string header = "arrival_s,model,tenant,prompt_tokens,output_tokens";
  const auto before = ReadTrace(Plain(header + ",class,prefix_hashes\n0,,t,600,1,batch,7\n1,,t,1,1,,\n"));
  ASSERT_TRUE(before.ok()) << before.status();
  EXPECT_EQ(before->requests[0].service_class, "batch");
  EXPECT_THAT(before->requests[0].prefix_hashes, ElementsAre(7));
  EXPECT_EQ(before->requests[1].service_class, "");

  const auto after = ReadTrace(Plain(header + ",prefix_hashes,class\n0,,t,600,1,7,batch\n"));
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(after->requests[0].service_class, "batch");
  EXPECT_THAT(after->requests[0].prefix_hashes, ElementsAre(7));
}

TEST_F(TraceFile, AByteOrderMarkIsSkipped) {
  const auto trace =
      ReadTrace(Plain("\xEF\xBB\xBF"
                      "arrival_s,model,tenant,prompt_tokens,output_tokens\n0,m,t,6,1\n"));
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_EQ(trace->requests.at(0).model, "m");
}

TEST_F(TraceFile, AColumnThatIsUnknownOrComesTwiceIsABadHeader) {
  const std::string header = "arrival_s,model,tenant,prompt_tokens,output_tokens";
  EXPECT_THAT(ErrorOf(header + ",class,class\n0,,,1,1,a,b\n"), HasSubstr("t.csv:1: the header must be"));
  EXPECT_THAT(ErrorOf(header + ",priority\n0,,,1,1,a\n"), HasSubstr("t.csv:1: the header must be"));
  EXPECT_THAT(ErrorOf(header + ",\n0,,,1,1,a\n"), HasSubstr("t.csv:1: the header must be"));
  EXPECT_THAT(ErrorOf(header + "s\n0,,,1,1\n"), HasSubstr("t.csv:1: the header must be"));
}

TEST_F(TraceFile, ABadRowIsNamedByFileAndLine) {
  const std::string header = "arrival_s,model,tenant,prompt_tokens,output_tokens\n0,,,1,1\n";

  EXPECT_THAT(ErrorOf(header + "1,,,x,1\n"), HasSubstr("t.csv:3: prompt_tokens: \"x\""));
  EXPECT_THAT(ErrorOf(header + "1,,,1,0\n"), HasSubstr("t.csv:3: output_tokens: \"0\""));
  EXPECT_THAT(ErrorOf(header + "nan,,,1,1\n"), HasSubstr("t.csv:3: arrival_s: \"nan\""));
  EXPECT_THAT(ErrorOf(header + "-1,,,1,1\n"), HasSubstr("t.csv:3: arrival_s"));
  EXPECT_THAT(ErrorOf(header + "1,,,1\n"), HasSubstr("t.csv:3: expected 5 columns, found 4"));
  EXPECT_THAT(ErrorOf(header + "2,,,1,1\n1,,,1,1\n"), HasSubstr("t.csv:4: arrival_s is earlier"));
  EXPECT_THAT(ErrorOf("arrival_s,model,tenant,prompt_tokens,output_tokens,prefix_hashes\n0,,,9,1,1;b\n"),
              HasSubstr("t.csv:2: prefix_hashes: \"b\""));
  EXPECT_THAT(ErrorOf("time,tokens\n"), HasSubstr("t.csv:1: the header must be"));
  EXPECT_THAT(ErrorOf(""), HasSubstr("t.csv:1: the header must be"));
  EXPECT_THAT(ErrorOf("arrival_s,model,tenant,prompt_tokens,output_tokens\n"), HasSubstr("no rows"));
}

TEST_F(TraceFile, AFileWithoutAnEndIsNotReadForEver) {
  const auto zeros = ReadTrace("/dev/zero");
  EXPECT_EQ(zeros.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(zeros.status().message(), HasSubstr("/dev/zero:1: the line is longer than"));

  EXPECT_EQ(ReadTrace(Plain(kPlain), 3)->requests.size(), 2u);
  const auto rows = ReadTrace(Plain(kPlain), 2);
  EXPECT_THAT(rows.status().message(), HasSubstr("t.csv:3: a trace has 2 lines at most"));
  const auto empty = ReadTrace(Plain(std::string(kPlain) + std::string(100, '\n')), 50);
  EXPECT_THAT(empty.status().message(), HasSubstr("t.csv:51: a trace has 50 lines at most"));
}

TEST_F(TraceFile, AMissingFileIsNotFound) {
  const auto trace = ReadTrace((folder_ / "none.csv").string());

  EXPECT_EQ(trace.status().code(), absl::StatusCode::kNotFound);
}

TEST_F(TraceFile, AGzipStreamCutShortIsDataLoss) {
  std::string text = kPlain;
  for (int i = 5; i < 20'000; ++i) text += std::to_string(i) + ",,," + std::to_string(i % 977 + 1) + ",1\n";
  const std::string path = Gzip(text);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);

  const auto trace = ReadTrace(path);

  EXPECT_EQ(trace.status().code(), absl::StatusCode::kDataLoss) << trace.status();
}

TEST_F(TraceFile, RateCompressesArrivalsBeforeTheDurationCutsThem) {
  std::string text = "arrival_s,model,tenant,prompt_tokens,output_tokens\n";
  for (int i = 0; i < 10; ++i) text += std::to_string(i) + ",,,1," + std::to_string(i + 1) + "\n";

  const auto trace = OpenTrace(Plain(text), {2, Duration::Seconds(3), Duration()}, 1);

  ASSERT_TRUE(trace.ok()) << trace.status();
  // Arrivals 0, 0.5 ... 2.5; the one at exactly 3 s is outside.
  ASSERT_THAT(trace->requests, SizeIs(6));
  EXPECT_EQ(trace->requests.back().arrival, Duration::Seconds(2.5));
  EXPECT_EQ(trace->length, Duration::Seconds(3));
}

TEST_F(TraceFile, WithoutADurationTheLastArrivalEndsTheRun) {
  const auto trace = OpenTrace(Plain(kPlain), {0.5, std::nullopt, Duration()}, 1);

  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(trace->length, Duration::Seconds(8.63));
  EXPECT_THAT(trace->requests, SizeIs(2));
}

TEST_F(TraceFile, ARateThatMovesArrivalsBeyondAllTimeIsAFault) {
  const auto trace = OpenTrace(Plain(kPlain), {1e-9, std::nullopt, Duration()}, 1);
  EXPECT_THAT(std::string(trace.status().message()), ::testing::HasSubstr("more than 1e+09; give a higher rate"));
  EXPECT_TRUE(OpenTrace(Plain(kPlain), {1e-9, Duration::Seconds(5), Duration()}, 1).ok());
}

TEST_F(TraceFile, TheSharedTraceMatchesItsPublishedFigures) {
  const std::string path = SourcePath("../shared/traces/azure23_conv_a.csv");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path;

  const auto trace = ReadTrace(path);

  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(trace->requests, SizeIs(9754));
  EXPECT_NEAR(trace->length.seconds(), 1753, 1);
}

}  // namespace
}  // namespace penstock::bench
