// OpenAI's /v1/files on the job store: upload, list, look, read, delete.
//
// The body of an upload goes to the disk piece by piece: the next piece is read once the store has the one before. So
// an upload holds two pieces of memory, and a slow disk slows its own clients alone. A client that leaves in the
// middle, and an upload that fails, leave nothing behind. Runs on the loop of the request; every access to the store is
// a call of its thread.
#ifndef PENSTOCK_ROUTER_JOBS_API_FILES_API_H_
#define PENSTOCK_ROUTER_JOBS_API_FILES_API_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "router/jobs/worker/job_thread.h"
#include "router/openai/request/header_rules.h"
#include "router/session/client/body_source.h"
#include "router/session/client/client.h"

namespace penstock::jobs {

class FilesApi {
 public:
  // All outlive the object.
  FilesApi(JobThread& store, boost::asio::io_context& io, TenantId tenant, Client& client)
      : store_(store), io_(io), tenant_(tenant), client_(client) {}

  // Each answers the client and returns the error that it answered with, if it did.
  using Failed = std::optional<ApiError>;
  boost::asio::awaitable<Failed> Upload(const HeaderList& headers, BodySource& body);
  boost::asio::awaitable<Failed> List(absl::string_view target);
  boost::asio::awaitable<Failed> Show(std::string id);
  // `head_only`: the answer has no body.
  boost::asio::awaitable<Failed> Content(std::string id, bool head_only);
  boost::asio::awaitable<Failed> Delete(std::string id);

 private:
  class OpenUpload;

  // Reads the body into the upload. Nullopt: all of it is there, or the client left (client_.gone()).
  boost::asio::awaitable<Failed> Receive(BodySource& body, OpenUpload& upload, std::string boundary);
  boost::asio::awaitable<Failed> SendBytes(StoredFile file);
  boost::asio::awaitable<Failed> Fail(ApiError error);
  boost::asio::awaitable<Failed> Answer(std::string json);

  JobThread& store_;
  boost::asio::io_context& io_;
  const TenantId tenant_;
  Client& client_;
};

}  // namespace penstock::jobs

#endif  // PENSTOCK_ROUTER_JOBS_API_FILES_API_H_
