#include "router/jobs/api/files_api.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "router/jobs/api/file_json.h"
#include "router/jobs/api/job_fault.h"
#include "router/jobs/api/list_answer.h"
#include "router/jobs/api/list_query.h"
#include "router/jobs/api/upload_form.h"
#include "router/jobs/worker/wall_clock.h"

namespace penstock::jobs {
namespace asio = boost::asio;

namespace {

constexpr int64_t kReadPiece = 256 << 10;
// A download that began never has less, so no other one breaks it off.
constexpr int64_t kSmallPiece = 64 << 10;
constexpr absl::string_view kBytesType = "application/octet-stream";

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

// A download of the store. The end of the last one of a deleted file frees its bytes, which may block.
class FilesApi::OpenRead {
 public:
  OpenRead(JobThread& store, asio::io_context& io, std::string id) : store_(store), io_(io), id_(std::move(id)) {}
  ~OpenRead() {
    store_.Post(
        io_, [id = std::move(id_)](JobStore& store) { return store.files().readers().End(id), true; }, [](bool) {});
  }
  OpenRead(const OpenRead&) = delete;
  OpenRead& operator=(const OpenRead&) = delete;

 private:
  JobThread& store_;
  asio::io_context& io_;
  std::string id_;
};

asio::awaitable<Failed> FilesApi::Upload(const HeaderList& headers, BodySource& body) {
  std::optional<std::string> boundary = MultipartScanner::BoundaryOf(FindHeader(headers, "content-type"));
  if (!FindHeader(headers, "content-encoding").empty()) {
    ApiError error = MakeError(ErrorName::kContentEncoding, "The body of an upload comes without a content encoding.");
    co_return co_await Fail(call_, std::move(error));
  }
  if (!boundary) {
    ApiError error = MakeError(ErrorName::kContentType,
                               "The content type of an upload must be multipart/form-data with a boundary.");
    co_return co_await Fail(call_, std::move(error));
  }
  const Bytes announced(static_cast<int64_t>(std::min<uint64_t>(body.length().value_or(0), uint64_t{1} << 60)));
  auto begin = [tenant = call_.tenant, announced](JobStore& store) {
    return store.files().BeginUpload(tenant, announced);
  };
  const JobResult<UploadId> begun = co_await call_.store.CallInTurn(call_.io, call_.caller, std::move(begin));
  if (!begun.ok()) {
    ApiError error = FaultOf(begun.error(), "file");
    co_return co_await Fail(call_, std::move(error));
  }
  OpenUpload upload(call_.store, call_.io, *begun);
  body.Begin();
  Failed failed = co_await Receive(body, upload, *std::move(boundary));
  if (failed) co_return co_await Fail(call_, *std::move(failed));
  if (call_.client.gone()) co_return std::nullopt;
  auto facts = upload.form().Finish();
  if (ApiError* bad = std::get_if<ApiError>(&facts)) co_return co_await Fail(call_, std::move(*bad));
  auto commit = [id = *begun, facts = std::get<FileFacts>(std::move(facts))](JobStore& store) {
    return store.files().Commit(id, facts, WallSeconds());
  };
  const JobResult<StoredFile> file = co_await call_.store.CallInTurn(call_.io, call_.caller, std::move(commit));
  upload.End();
  if (!file.ok()) {
    ApiError error = FaultOf(file.error(), "file");
    co_return co_await Fail(call_, std::move(error));
  }
  std::string json = FileJson(*file);
  co_return co_await AnswerJson(call_, std::move(json));
}

asio::awaitable<Failed> FilesApi::Receive(BodySource& body, OpenUpload& upload, std::string boundary) {
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
    const JobDone appended = co_await call_.store.CallInTurn(call_.io, call_.caller, std::move(append));
    if (!appended.ok()) co_return FaultOf(appended.error(), "file");
  }
}

asio::awaitable<Failed> FilesApi::List(absl::string_view target) {
  auto query = ReadListQuery(target, kFileList);
  if (ApiError* bad = std::get_if<ApiError>(&query)) co_return co_await Fail(call_, std::move(*bad));
  ListSource source = [tenant = call_.tenant](JobStore& store, const ListQuery& part) -> JobResult<ListSlice> {
    const JobResult<ListPage<StoredFile>> page = store.files().List(tenant, part);
    if (!page.ok()) return page.error();
    return SliceOf(*page, FileJson);
  };
  co_return co_await AnswerList(call_, std::get<ListQuery>(std::move(query)), std::move(source));
}

asio::awaitable<Failed> FilesApi::Show(std::string id) {
  auto find = [tenant = call_.tenant, id = std::move(id)](JobStore& store) { return store.files().Find(tenant, id); };
  const JobResult<StoredFile> file = co_await call_.store.CallInTurn(call_.io, call_.caller, std::move(find));
  if (!file.ok()) {
    ApiError error = FaultOf(file.error(), "id");
    co_return co_await Fail(call_, std::move(error));
  }
  std::string json = FileJson(*file);
  co_return co_await AnswerJson(call_, std::move(json));
}

asio::awaitable<Failed> FilesApi::Delete(std::string id) {
  auto remove = [tenant = call_.tenant, id](JobStore& store) { return store.files().Delete(tenant, id); };
  const JobDone removed = co_await call_.store.CallInTurn(call_.io, call_.caller, std::move(remove));
  if (!removed.ok()) {
    ApiError error = FaultOf(removed.error(), "id");
    co_return co_await Fail(call_, std::move(error));
  }
  std::string json = DeletedFileJson(id);
  co_return co_await AnswerJson(call_, std::move(json));
}

asio::awaitable<Failed> FilesApi::Content(std::string id, bool head_only) {
  auto find = [tenant = call_.tenant, id = std::move(id), head_only](JobStore& store) {
    return head_only ? store.files().Find(tenant, id) : store.files().BeginRead(tenant, id);
  };
  const JobResult<StoredFile> file = co_await call_.store.CallInTurn(call_.io, call_.caller, std::move(find));
  if (!file.ok()) {
    ApiError error = FaultOf(file.error(), "id");
    co_return co_await Fail(call_, std::move(error));
  }
  const HeaderList headers = {{"content-disposition", Disposition(file->filename)}};
  call_.client.BeginWhole(kBytesType, headers, static_cast<uint64_t>(file->bytes.value()));
  if (!head_only) co_return co_await SendBytes(*file);
  (void)co_await SendPart(call_.client, "");
  (void)co_await call_.client.End();
  co_return std::nullopt;
}

int64_t FilesApi::NextPiece(int64_t left) {
  const int64_t large = std::min(kReadPiece, left), small = std::min(kSmallPiece, left);
  if (!call_.memory.crowded() && call_.memory.Hold(static_cast<size_t>(large))) return large;
  return call_.memory.Hold(static_cast<size_t>(small)) ? small : 0;
}

// The head goes out with the first bytes, so a file that is gone from the folder is an error of its own.
asio::awaitable<Failed> FilesApi::SendBytes(StoredFile file) {
  const OpenRead reading(call_.store, call_.io, file.id);
  for (int64_t sent = 0; sent < file.bytes.value();) {
    const int64_t wanted = NextPiece(file.bytes.value() - sent);
    if (wanted == 0) {
      ApiError error = NoRoom(call_);
      co_return co_await Fail(call_, std::move(error));
    }
    auto read = [id = file.id, sent, wanted](JobStore& store) {
      return store.files().readers().Read(id, sent, wanted);
    };
    const JobResult<std::string> bytes = co_await call_.store.CallInTurn(call_.io, call_.caller, std::move(read));
    if (!bytes.ok()) {
      ApiError error = FaultOf(bytes.error(), "id");
      co_return co_await Fail(call_, std::move(error));
    }
    const bool alive = co_await SendPart(call_.client, *bytes);
    if (!alive) co_return std::nullopt;
    sent += static_cast<int64_t>(bytes->size());
  }
  (void)co_await call_.client.End();
  co_return std::nullopt;
}

}  // namespace penstock::jobs
