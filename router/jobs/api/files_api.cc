#include "router/jobs/api/files_api.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "router/jobs/api/file_json.h"
#include "router/jobs/api/job_fault.h"
#include "router/jobs/api/list_query.h"
#include "router/jobs/api/upload_form.h"
#include "router/jobs/store/data_file.h"
#include "router/jobs/worker/wall_clock.h"

namespace penstock::jobs {
namespace asio = boost::asio;

namespace {

constexpr int64_t kReadPiece = 256 << 10;
constexpr absl::string_view kJsonType = "application/json";
constexpr absl::string_view kBytesType = "application/octet-stream";
const HeaderList kNone;

// Nothing of a name may end the header or its quotes.
std::string Disposition(absl::string_view filename) {
  std::string name;
  for (const char c : filename) name.push_back(c == '"' || c == '\\' || static_cast<unsigned char>(c) < ' ' ? '_' : c);
  return absl::StrCat("attachment; filename=\"", name, "\"");
}

}  // namespace

// An upload of the store, abandoned unless it is committed.
class FilesApi::OpenUpload {
 public:
  OpenUpload(JobThread& store, asio::io_context& io, UploadId id) : store_(store), io_(io), id_(id) {}
  ~OpenUpload() {
    if (over_) return;
    store_.Post(
        io_, [id = id_](JobStore& store) { return store.files().Abandon(id), true; }, [](bool) {});
  }
  OpenUpload(const OpenUpload&) = delete;
  OpenUpload& operator=(const OpenUpload&) = delete;

  UploadId id() const { return id_; }
  UploadForm& form() { return *form_; }
  void SetForm(absl::string_view boundary) { form_.emplace(boundary); }
  // The store has ended it.
  void End() { over_ = true; }

 private:
  JobThread& store_;
  asio::io_context& io_;
  const UploadId id_;
  std::optional<UploadForm> form_;
  bool over_ = false;
};

asio::awaitable<FilesApi::Failed> FilesApi::Fail(ApiError error) {
  (void)co_await client_.Error(error);
  co_return Failed(std::move(error));
}

asio::awaitable<FilesApi::Failed> FilesApi::Answer(std::string json) {
  (void)co_await SendWhole(client_, http_status::kOk, kJsonType, kNone, json);
  co_return std::nullopt;
}

asio::awaitable<FilesApi::Failed> FilesApi::Upload(const HeaderList& headers, BodySource& body) {
  std::optional<std::string> boundary = MultipartScanner::BoundaryOf(FindHeader(headers, "content-type"));
  if (!FindHeader(headers, "content-encoding").empty()) {
    ApiError error = MakeError(ErrorName::kContentEncoding, "The body of an upload comes without a content encoding.");
    co_return co_await Fail(std::move(error));
  }
  if (!boundary) {
    ApiError error = MakeError(ErrorName::kContentType,
                               "The content type of an upload must be multipart/form-data with a boundary.");
    co_return co_await Fail(std::move(error));
  }
  const Bytes announced(static_cast<int64_t>(std::min<uint64_t>(body.length().value_or(0), uint64_t{1} << 60)));
  auto begin = [tenant = tenant_, announced](JobStore& store) { return store.files().BeginUpload(tenant, announced); };
  const JobResult<UploadId> begun = co_await store_.Call(io_, std::move(begin));
  if (!begun.ok()) {
    ApiError error = FaultOf(begun.error(), "file");
    co_return co_await Fail(std::move(error));
  }
  OpenUpload upload(store_, io_, *begun);
  body.Begin();
  Failed failed = co_await Receive(body, upload, *std::move(boundary));
  if (failed) co_return co_await Fail(*std::move(failed));
  if (client_.gone()) co_return std::nullopt;
  auto facts = upload.form().Finish();
  if (ApiError* bad = std::get_if<ApiError>(&facts)) co_return co_await Fail(std::move(*bad));
  auto commit = [id = *begun, facts = std::get<FileFacts>(std::move(facts))](JobStore& store) {
    return store.files().Commit(id, facts, WallSeconds());
  };
  const JobResult<StoredFile> file = co_await store_.Call(io_, std::move(commit));
  upload.End();
  if (!file.ok()) {
    ApiError error = FaultOf(file.error(), "file");
    co_return co_await Fail(std::move(error));
  }
  std::string json = FileJson(*file);
  co_return co_await Answer(std::move(json));
}

asio::awaitable<FilesApi::Failed> FilesApi::Receive(BodySource& body, OpenUpload& upload, std::string boundary) {
  upload.SetForm(boundary);
  while (true) {
    BodyPiece piece = co_await body.Next();
    if (piece.state == BodyPiece::State::kFailed) co_return Failed(std::move(piece.error));
    if (piece.state != BodyPiece::State::kBytes) co_return std::nullopt;
    std::string bytes;
    bytes.reserve(piece.bytes.size());
    Failed error = upload.form().Take(piece.bytes, &bytes);
    if (error) co_return error;
    if (bytes.empty()) continue;
    auto append = [id = upload.id(), bytes = std::move(bytes)](JobStore& store) {
      return store.files().Append(id, bytes);
    };
    const JobDone appended = co_await store_.Call(io_, std::move(append));
    if (!appended.ok()) co_return FaultOf(appended.error(), "file");
  }
}

asio::awaitable<FilesApi::Failed> FilesApi::List(absl::string_view target) {
  auto query = ReadListQuery(target, kFileList);
  if (ApiError* bad = std::get_if<ApiError>(&query)) co_return co_await Fail(std::move(*bad));
  auto list = [tenant = tenant_, query = std::get<ListQuery>(std::move(query))](JobStore& store) {
    return store.files().List(tenant, query);
  };
  const JobResult<ListPage<StoredFile>> page = co_await store_.Call(io_, std::move(list));
  if (!page.ok()) {
    ApiError error = FaultOf(page.error(), "after");
    co_return co_await Fail(std::move(error));
  }
  std::string json = ListJson(*page, FileJson);
  co_return co_await Answer(std::move(json));
}

asio::awaitable<FilesApi::Failed> FilesApi::Show(std::string id) {
  auto find = [tenant = tenant_, id = std::move(id)](JobStore& store) { return store.files().Find(tenant, id); };
  const JobResult<StoredFile> file = co_await store_.Call(io_, std::move(find));
  if (!file.ok()) {
    ApiError error = FaultOf(file.error(), "id");
    co_return co_await Fail(std::move(error));
  }
  std::string json = FileJson(*file);
  co_return co_await Answer(std::move(json));
}

asio::awaitable<FilesApi::Failed> FilesApi::Delete(std::string id) {
  auto remove = [tenant = tenant_, id](JobStore& store) { return store.files().Delete(tenant, id); };
  const JobDone removed = co_await store_.Call(io_, std::move(remove));
  if (!removed.ok()) {
    ApiError error = FaultOf(removed.error(), "id");
    co_return co_await Fail(std::move(error));
  }
  std::string json = DeletedFileJson(id);
  co_return co_await Answer(std::move(json));
}

asio::awaitable<FilesApi::Failed> FilesApi::Content(std::string id, bool head_only) {
  auto find = [tenant = tenant_, id = std::move(id)](JobStore& store) { return store.files().Find(tenant, id); };
  const JobResult<StoredFile> file = co_await store_.Call(io_, std::move(find));
  if (!file.ok()) {
    ApiError error = FaultOf(file.error(), "id");
    co_return co_await Fail(std::move(error));
  }
  const HeaderList headers = {{"content-disposition", Disposition(file->filename)}};
  client_.BeginWhole(kBytesType, headers, static_cast<uint64_t>(file->bytes.value()));
  if (!head_only) co_return co_await SendBytes(*file);
  (void)co_await SendPart(client_, "");
  (void)co_await client_.End();
  co_return std::nullopt;
}

// The head goes out with the first bytes, so a file that is gone from the folder is an error of its own. A file that is
// deleted meanwhile is sent to its end.
asio::awaitable<FilesApi::Failed> FilesApi::SendBytes(StoredFile file) {
  auto open = [id = file.id](JobStore& store) { return store.files().Open(id); };
  JobResult<std::shared_ptr<const DataFile>> data = co_await store_.Call(io_, std::move(open));
  if (!data.ok()) {
    ApiError error = FaultOf(data.error(), "id");
    co_return co_await Fail(std::move(error));
  }
  // The last close of a deleted file frees its bytes, which may block.
  const auto close = absl::MakeCleanup([&] {
    store_.Post(
        io_, [last = *std::move(data)](JobStore&) { return last != nullptr; }, [](bool) {});
  });
  int64_t sent = 0;
  do {
    const int64_t wanted = std::min(kReadPiece, file.bytes.value() - sent);
    auto read = [data = *data, sent, wanted](JobStore&) { return data->ReadWhole(sent, wanted); };
    const JobResult<std::string> bytes = co_await store_.Call(io_, std::move(read));
    if (!bytes.ok()) {
      ApiError error = FaultOf(bytes.error(), "id");
      co_return co_await Fail(std::move(error));
    }
    const bool alive = co_await SendPart(client_, *bytes);
    if (!alive) co_return std::nullopt;
    sent += static_cast<int64_t>(bytes->size());
  } while (sent < file.bytes.value());
  (void)co_await client_.End();
  co_return std::nullopt;
}

}  // namespace penstock::jobs
