// Any bytes may be the body of POST /v1/batches. They become a request whose parts are within their bounds, or an error
// of the client. The same bytes may be the id of a stored response: an id names a replica for one tenant only.
#include <cstdint>
#include <string>
#include <variant>

#include "absl/strings/string_view.h"
#include "base/ids.h"
#include "router/jobs/batch/batch_request.h"
#include "router/responses/response_id.h"
#include "tests/fuzz/expect.h"

namespace {

void CheckId(absl::string_view bytes) {
  const penstock::TenantId tenant(1);
  const auto named = penstock::ReplicaIn(bytes, tenant);
  Expect(!named || penstock::IsResponseId(bytes), "an id has the form of one");
  Expect(!named || !penstock::ReplicaIn(bytes, penstock::TenantId(2)), "an id is of one tenant");
  // The bytes change one place of a good id.
  const penstock::ReplicaMarks replica = penstock::MarksOf("a", "http://10.0.0.1:8000");
  const std::string good = penstock::NewResponseId(replica, tenant);
  Expect(penstock::ReplicaIn(good, tenant) == replica, "a good id names its replica");
  if (bytes.size() < 2) return;
  std::string forged = good;
  forged[static_cast<unsigned char>(bytes[0]) % forged.size()] = bytes[1];
  Expect(forged == good || !penstock::ReplicaIn(forged, tenant), "a forged id names nothing");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  CheckId(bytes);
  const auto read = penstock::jobs::ReadBatchRequest(bytes);
  if (const auto* error = std::get_if<penstock::ApiError>(&read)) {
    Expect(error->status >= 400 && error->status < 500, "a fault is the client's");
    Expect(!error->message.empty(), "a fault has a message");
    return 0;
  }
  const auto& request = std::get<penstock::jobs::BatchRequest>(read);
  Expect(!request.input_file_id.empty(), "there is an input");
  Expect(penstock::jobs::EndpointOfPath(request.endpoint).has_value(), "the endpoint is one");
  Expect(penstock::jobs::ReadWindow(request.completion_window) == request.window, "the window is its text");
  Expect(request.window >= penstock::Duration::Seconds(1) && request.window <= penstock::Duration::Seconds(30 * 86'400),
         "the window has bounds");
  return 0;
}
