#include "router/jobs/batch/batch_request.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace penstock::jobs {
namespace {

constexpr const char* kBegin =
    R"({"input_file_id":"file-1","endpoint":"/v1/chat/completions","completion_window":"24h")";

BatchRequest Good(const std::string& more = "") {
  auto read = ReadBatchRequest(absl::StrCat(kBegin, more, "}"));
  if (const ApiError* bad = std::get_if<ApiError>(&read)) ADD_FAILURE() << bad->message;
  return std::get<BatchRequest>(std::move(read));
}

ApiError Bad(const std::string& body) {
  auto read = ReadBatchRequest(body);
  if (std::holds_alternative<BatchRequest>(read)) {
    ADD_FAILURE() << "taken: " << body;
    return {};
  }
  return std::get<ApiError>(std::move(read));
}

TEST(BatchRequest, TheFieldsAreTaken) {
  const BatchRequest request = Good();
  EXPECT_EQ(request.input_file_id, "file-1");
  EXPECT_EQ(request.endpoint, "/v1/chat/completions");
  EXPECT_EQ(request.window, Duration::Seconds(86'400));
  EXPECT_EQ(request.metadata, "");
  EXPECT_FALSE(request.output_expires_after);
}

TEST(BatchRequest, MetadataAndExpiryAreTaken) {
  const BatchRequest request =
      Good(R"(,"metadata":{"a":"b"},"output_expires_after":{"anchor":"created_at","seconds":7200})");
  EXPECT_EQ(request.metadata, R"({"a":"b"})");
  EXPECT_EQ(request.output_expires_after, Duration::Seconds(7200));
}

TEST(BatchRequest, TheBoundsOfMetadataCountCharacters) {
  std::string value;
  for (int i = 0; i < 512; ++i) value += "\xC3\xA4";
  EXPECT_EQ(Good(R"(,"metadata":{"a":")" + value + "\"}").metadata, "{\"a\":\"" + value + "\"}");
  EXPECT_EQ(Bad(absl::StrCat(kBegin, R"(,"metadata":{"a":")", value, "b\"}}")).param, "metadata");
}

TEST(BatchRequest, NullsAreAsNothing) {
  const BatchRequest request = Good(R"(,"metadata":null,"output_expires_after":null)");
  EXPECT_EQ(request.metadata, "");
  EXPECT_FALSE(request.output_expires_after);
}

TEST(BatchRequest, EveryFaultNamesItsField) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"{}", "input_file_id"},
      {R"({"input_file_id":1})", "input_file_id"},
      {R"({"input_file_id":"f"})", "endpoint"},
      {R"({"input_file_id":"f","endpoint":"/v1/models"})", "endpoint"},
      {R"({"input_file_id":"f","endpoint":"/v1/chat/completions?a"})", "endpoint"},
      {R"({"input_file_id":"f","endpoint":"/v1/audio/speech","completion_window":"24h"})", "endpoint"},
      {R"({"input_file_id":"f","endpoint":"/v1/audio/transcriptions","completion_window":"24h"})", "endpoint"},
      {R"({"input_file_id":"f","endpoint":"/v1/audio/translations","completion_window":"24h"})", "endpoint"},
      {R"({"input_file_id":"f","endpoint":"/v1/images/edits","completion_window":"24h"})", "endpoint"},
      {R"({"input_file_id":"f","endpoint":"/v1/embeddings"})", "completion_window"},
      {absl::StrCat(kBegin, R"(,"input_file_id":"file-2"})"), "input_file_id"},
      {absl::StrCat(kBegin, R"(,"metadata":{"a":"b","a":"c"}})"), "a"},
      {R"({"input_file_id":"f","endpoint":"/v1/embeddings","completion_window":"1 day"})", "completion_window"},
      {absl::StrCat(kBegin, R"(,"metadata":[]})"), "metadata"},
      {absl::StrCat(kBegin, R"(,"metadata":{"a":1}})"), "metadata"},
      {absl::StrCat(kBegin, R"(,"metadata":{")", std::string(65, 'k'), R"(":"v"}})"), "metadata"},
      {absl::StrCat(kBegin, R"(,"output_expires_after":5})"), "output_expires_after"},
      {absl::StrCat(kBegin, R"(,"output_expires_after":{"anchor":"created_at","seconds":1}})"), "output_expires_after"},
      {absl::StrCat(kBegin, R"(,"output_expires_after":{"anchor":"now","seconds":7200}})"), "output_expires_after"},
  };
  for (const auto& [body, field] : cases) EXPECT_EQ(Bad(body).param, field) << body;
}

TEST(BatchRequest, NoJsonIsRefused) {
  for (const char* body : {"", "{", "[]", "5", "{\"a\":\"\xff\"}"}) EXPECT_EQ(Bad(body).status, 400) << body;
}

TEST(BatchRequest, WindowsHaveOneUnit) {
  EXPECT_EQ(ReadWindow("30s"), Duration::Seconds(30));
  EXPECT_EQ(ReadWindow("90m"), Duration::Seconds(5400));
  EXPECT_EQ(ReadWindow("7d"), Duration::Seconds(604'800));
  for (const char* bad : {"", "h", "24", "0s", "-1h", "31d", "1w", "1.5h", "99999999999999999999s", "24h "}) {
    EXPECT_FALSE(ReadWindow(bad)) << bad;
  }
}

TEST(BatchRequest, EndpointsAreThoseThatPenstockRoutesToEngines) {
  EXPECT_EQ(EndpointOfPath("/v1/chat/completions"), Endpoint::kChat);
  EXPECT_EQ(EndpointOfPath("/v1/embeddings"), Endpoint::kEmbeddings);
  EXPECT_EQ(EndpointOfPath("/v1/responses"), Endpoint::kResponses);
  EXPECT_FALSE(EndpointOfPath("/v1/models"));
  EXPECT_FALSE(EndpointOfPath("http://elsewhere/v1/chat/completions#x"));
}

}  // namespace
}  // namespace penstock::jobs
