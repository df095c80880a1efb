// The parameters of lists, and lists and files as objects.
#include "router/jobs/api/list_query.h"

#include <gtest/gtest.h>

#include "router/jobs/api/file_json.h"
#include "router/jobs/api/job_fault.h"
#include "router/jobs/api/list_answer.h"

namespace penstock::jobs {
namespace {

std::string QuotedId(const StoredFile& file) { return JsonQuote(file.id); }

std::string FaultOf(absl::string_view target) {
  const auto query = ReadListQuery(target, kFileList);
  const ApiError* error = std::get_if<ApiError>(&query);
  return error == nullptr ? "" : error->param;
}

TEST(ListQuery, ParametersHaveDefaultsAndBounds) {
  const ListQuery usual = std::get<ListQuery>(ReadListQuery("/v1/batches", kBatchList));
  EXPECT_EQ(usual.limit, 20);
  EXPECT_TRUE(usual.newest_first);
  const ListQuery all =
      std::get<ListQuery>(ReadListQuery("/v1/files?after=file-1&limit=10000&order=asc&purpose=batch", kFileList));
  EXPECT_EQ(all.after, "file-1");
  EXPECT_EQ(all.limit, 10'000);
  EXPECT_FALSE(all.newest_first);
  EXPECT_EQ(all.purpose, "batch");
  for (const char* limit : {"0", "-1", "10001", "x", "", "99999999999999999999"}) {
    EXPECT_EQ(FaultOf(absl::StrCat("/v1/files?limit=", limit)), "limit") << limit;
  }
  EXPECT_EQ(FaultOf("/v1/files?order=up"), "order");
}

TEST(FileJson, AFileIsOpenAIsObject) {
  StoredFile file{.id = "file-1", .purpose = "batch", .filename = "a\"b.jsonl", .bytes = Bytes(7)};
  file.created_at = UnixSeconds(5);
  EXPECT_EQ(FileJson(file),
            R"({"id":"file-1","object":"file","bytes":7,"created_at":5,"expires_at":null,"filename":"a\"b.jsonl",)"
            R"("purpose":"batch","status":"processed","status_details":null})");
  file.expires_at = UnixSeconds(9);
  EXPECT_NE(FileJson(file).find(R"("expires_at":9)"), std::string::npos);
}

TEST(ListText, AListNamesItsEnds) {
  ListPage<StoredFile> page;
  EXPECT_EQ(ListText().Next(SliceOf(page, FileJson), true),
            R"({"object":"list","data":[],"first_id":null,"last_id":null,"has_more":false})");
  page.items = {{.id = "a"}, {.id = "b"}};
  page.has_more = true;
  const std::string json = ListText().Next(SliceOf(page, QuotedId), true);
  EXPECT_EQ(json, R"({"object":"list","data":["a","b"],"first_id":"a","last_id":"b","has_more":true})");
}

TEST(ListText, TheSlicesOfAListAreOneText) {
  ListText text;
  ListPage<StoredFile> page;
  page.has_more = true;
  std::string json;
  for (const char* id : {"a", "b", "c"}) {
    page.items = {{.id = id}};
    json += text.Next(SliceOf(page, QuotedId), false);
  }
  // The rest was deleted meanwhile.
  json += text.Next(SliceOf(ListPage<StoredFile>(), QuotedId), true);
  EXPECT_EQ(json, R"({"object":"list","data":["a","b","c"],"first_id":"a","last_id":"c","has_more":false})");
}

TEST(JobFault, AFaultOfTheStoreKeepsPathsFromTheClient) {
  const ApiError full = jobs::FaultOf({JobErrorKind::kDiskFull, "/secret/path: No space left on device"});
  EXPECT_EQ(full.status, http_status::kServiceUnavailable);
  EXPECT_EQ(full.message.find("secret"), std::string::npos);
  EXPECT_NE(full.detail.find("secret"), std::string::npos);
  const ApiError missing = jobs::FaultOf({JobErrorKind::kNotFound, "No such File object: file-1"}, "id");
  EXPECT_EQ(missing.status, http_status::kNotFound);
  EXPECT_EQ(missing.message, "No such File object: file-1");
  EXPECT_EQ(missing.param, "id");
}

}  // namespace
}  // namespace penstock::jobs
