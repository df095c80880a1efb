#include "router/openai/embedding/embedding_merge.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

using Inputs = std::vector<absl::string_view>;

TEST(EmbeddingMerge, ATextAListOfTextsAndTokenIdsAreInputs) {
  EXPECT_EQ(ReadEmbeddingRequest(R"({"model":"m","input":"a"})").inputs, Inputs{R"("a")"});
  EXPECT_EQ(ReadEmbeddingRequest(R"({"input":["a","b"]})").inputs, (Inputs{R"("a")", R"("b")"}));
  EXPECT_EQ(ReadEmbeddingRequest(R"({"input":[1, 2]})").inputs, Inputs{"[1, 2]"});
  EXPECT_EQ(ReadEmbeddingRequest(R"({"input":[[1],[2,3]]})").inputs, (Inputs{"[1]", "[2,3]"}));
}

TEST(EmbeddingMerge, OtherFormsOfInputGoAlone) {
  for (const char* body : {R"({"model":"m"})", R"({"input":[]})", R"({"input":{"a":1}})", R"({"input":["a",1]})",
                           R"({"input":[{"text":"a"}]})", R"({"input":null})"}) {
    EXPECT_TRUE(ReadEmbeddingRequest(body).inputs.empty()) << body;
    EXPECT_TRUE(ReadEmbeddingRequest(body).key.empty()) << body;
  }
}

TEST(EmbeddingMerge, RequestsWithTheSameParametersHaveTheSameKey) {
  const std::string key = ReadEmbeddingRequest(R"({"model":"m","input":"a","dimensions":8})").key;
  EXPECT_EQ(ReadEmbeddingRequest(R"({"dimensions":8,"input":["x","y"],"model":"m"})").key, key);
  for (const char* other :
       {R"({"model":"m","input":"a"})", R"({"model":"m","input":"a","dimensions":9})",
        R"({"model":"n","input":"a","dimensions":8})", R"({"model":"m","input":[1],"dimensions":8})",
        R"({"model":"m","input":"a","dimensions":8,"user":"u"})"}) {
    EXPECT_NE(ReadEmbeddingRequest(other).key, key) << other;
  }
}

TEST(EmbeddingMerge, TheMergedRequestHasAllInputsInARow) {
  EXPECT_EQ(MergedBody(R"({"model":"m", "input": "a","x":1})", {{R"("a")"}, {R"("b\n")", R"("c")"}}),
            R"({"model":"m", "input": ["a","b\n","c"],"x":1})");
}

TEST(EmbeddingMerge, EachAnswerHasItsOwnBytesFromIndexZero) {
  const auto answers = SplitEmbeddings(
      R"({"id":"e","data":[{"index":2,"embedding":[8,9,1]},{"embedding":[1.50,-0.0,1e-05],"index":0},{"index":1,"embedding":[7,0,0]}],)"
      R"("usage":{"prompt_tokens":10,"total_tokens":10,"prompt_tokens_details":null}})",
      {{1, 3}, {2, 7}});
  ASSERT_TRUE(answers.ok()) << answers.status();
  EXPECT_EQ((*answers)[0], R"({"id":"e","data":[{"embedding":[1.50,-0.0,1e-05],"index":0}],)"
                           R"("usage":{"prompt_tokens":3,"total_tokens":3,"prompt_tokens_details":null}})");
  EXPECT_EQ((*answers)[1], R"({"id":"e","data":[{"index":0,"embedding":[7,0,0]},{"index":1,"embedding":[8,9,1]}],)"
                           R"("usage":{"prompt_tokens":7,"total_tokens":7,"prompt_tokens_details":null}})");
}

TEST(EmbeddingMerge, AnAnswerThatIsShortOrNamesWrongInputsIsNotSplit) {
  const auto split = [](const std::string& data) {
    return SplitEmbeddings(R"({"data":)" + data + "}", {{1, 1}, {1, 1}}).status().code();
  };
  const std::string zero = R"([{"index":0,"embedding":[1]})";
  const auto beside = [&zero](const char* index) { return zero + R"(,{"embedding":[1])" + index + "}]"; };
  EXPECT_EQ(split(beside(R"(,"index":1)")), absl::StatusCode::kOk);
  for (const std::string& data :
       {zero + "]", beside(R"(,"index":0)"), beside(R"(,"index":2)"), beside(R"(,"index":-1)"), beside(""),
        beside(R"(,"index":1.5)"), std::string("[1,2]"), std::string("{}"), std::string("null"),
        zero + R"(,{"index":1,"embedding":[1]},{"index":2,"embedding":[1]}])"}) {
    EXPECT_EQ(split(data), absl::StatusCode::kDataLoss) << data;
  }
  EXPECT_FALSE(SplitEmbeddings("{}", {{1, 1}}).ok());
}

TEST(EmbeddingMerge, EmbeddingsOfDifferentKindsOrLengthsAreNotSplit) {
  const auto split = [](const char* first, const char* second) {
    return SplitEmbeddings(absl::StrCat(R"({"data":[{"index":0,"embedding":)", first, R"(},{"index":1,"embedding":)",
                                        second, "}]}"),
                           {{1, 1}, {1, 1}})
        .status()
        .code();
  };
  for (const auto& [first, second] : std::vector<std::pair<const char*, const char*>>{{"[1,2]", "[1]"},
                                                                                      {"[1,2]", "[]"},
                                                                                      {"[1]", R"("QUJD")"},
                                                                                      {R"("QUJD")", R"("QUJDQUJD")"},
                                                                                      {"[1]", "null"},
                                                                                      {"null", "null"},
                                                                                      {"{}", "{}"},
                                                                                      {"[[1]]", "[1]"}}) {
    EXPECT_EQ(split(first, second), absl::StatusCode::kDataLoss) << first << " and " << second;
  }
  for (const auto& [first, second] : std::vector<std::pair<const char*, const char*>>{
           {"[1,2]", "[ 1.5e3 , -0 ]"}, {R"("QU/D")", R"("QU\/D")"}, {"[[1],[2]]", "[[1]]"}, {"[]", "[]"}}) {
    EXPECT_EQ(split(first, second), absl::StatusCode::kOk) << first << " and " << second;
  }
}

// Each number of the usage is divided among all parts.
TEST(EmbeddingMerge, AnAnswerWithTooManyNumbersIsNotSplit) {
  const auto with = [](int numbers) {
    std::string usage = R"("a":1)";
    for (int i = 1; i < numbers; ++i) usage += R"(,"a":1)";
    return SplitEmbeddings(
        R"({"usage":{)" + usage + R"(},"data":[{"index":0,"embedding":"a"},{"index":1,"embedding":"b"}]})",
        {{1, 1}, {1, 1}});
  };
  EXPECT_TRUE(with(64).ok());
  EXPECT_EQ(with(65).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(with(150'000).status().code(), absl::StatusCode::kDataLoss);
}

TEST(EmbeddingMerge, SharesFollowTheWeightsAndAddUpToTheTotal) {
  const std::vector<EmbeddingPart> parts = {{1, 1}, {1, 0}, {1, 5}, {1, 1'000'000'007}, {1, 3}};
  for (const int64_t total : {int64_t{0}, int64_t{1}, int64_t{7}, int64_t{1'000'003}}) {
    const std::vector<int64_t> shares = SharesOf(total, parts);
    EXPECT_EQ(std::accumulate(shares.begin(), shares.end(), int64_t{0}), total);
    for (const int64_t share : shares) EXPECT_GE(share, 0);
  }
  EXPECT_EQ(SharesOf(10, {{1, 3}, {1, 7}}), (std::vector<int64_t>{3, 7}));
}

}  // namespace
}  // namespace penstock
