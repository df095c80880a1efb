// OpenAI's /v1/files on the job store: upload, list, look, read, delete.
//
// The body of an upload goes to the disk piece by piece: the next piece is read once the store has the one before. So
// an upload holds two pieces of memory, and a slow disk slows its own clients alone. A client that leaves in the
// middle, and an upload that fails, leave nothing behind. A download opens its file anew for each piece, and holds one
// piece in the memory of all answers. A file that is deleted meanwhile is sent to its end.
#ifndef PENSTOCK_ROUTER_JOBS_API_FILES_API_H_
#define PENSTOCK_ROUTER_JOBS_API_FILES_API_H_

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "router/jobs/api/store_call.h"
#include "router/openai/request/header_rules.h"
#include "router/session/client/body_source.h"

namespace penstock::jobs {

class FilesApi {
 public:
  explicit FilesApi(const StoreCall& call) : call_(call) {}

  // Each answers the client.
  boost::asio::awaitable<Failed> Upload(const HeaderList& headers, BodySource& body);
  boost::asio::awaitable<Failed> List(absl::string_view target);
  boost::asio::awaitable<Failed> Show(std::string id);
  // `head_only`: the answer has no body.
  boost::asio::awaitable<Failed> Content(std::string id, bool head_only);
  boost::asio::awaitable<Failed> Delete(std::string id);

 private:
  class OpenUpload;
  class OpenRead;

  // Reads the body into the upload. Nullopt: all of it is there, or the client left (client.gone()).
  boost::asio::awaitable<Failed> Receive(BodySource& body, OpenUpload& upload, std::string boundary);
  boost::asio::awaitable<Failed> SendBytes(StoredFile file);
  // The bytes of the next piece, which are held from now on: many while the memory of answers has room. 0: it has none.
  int64_t NextPiece(int64_t left);

  const StoreCall call_;
};

}  // namespace penstock::jobs

#endif  // PENSTOCK_ROUTER_JOBS_API_FILES_API_H_
