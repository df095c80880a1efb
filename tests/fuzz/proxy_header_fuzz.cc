// Any bytes may stand where a PROXY header should. A header is found at one length whatever follows it, every shorter
// beginning of it needs more, and a fault stays one.
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "router/http/peer/forwarded_for.h"
#include "router/http/peer/proxy_header.h"
#include "tests/fuzz/expect.h"

namespace {

using penstock::ProxyHeader;
using State = penstock::ProxyHeader::State;

// The same bytes as the value of X-Forwarded-For: each answer is an address of the list, or that of the connection.
void CheckForwardedFor(absl::string_view bytes) {
  const auto proxy = boost::asio::ip::make_address("10.0.0.1");
  const penstock::HeaderList headers = {{"x-forwarded-for", bytes}};
  const auto nobody = penstock::ClientAddress(penstock::TrustedProxies({}), proxy, headers);
  Expect(nobody == proxy, "nobody is trusted by default");
  const auto client = penstock::ClientAddress(penstock::TrustedProxies({"10.0.0.0/8"}), proxy, headers);
  Expect(!client.is_unspecified(), "a client has an address");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  CheckForwardedFor(bytes);
  const ProxyHeader whole = penstock::ReadProxyHeader(bytes);
  Expect((whole.state == State::kBad) == !whole.fault.empty(), "a fault has a name");
  if (whole.state == State::kNeedMore) Expect(size < ProxyHeader::kMaxBytes, "a header ends within its limit");
  if (whole.state != State::kDone) return 0;
  Expect(whole.size > 0 && whole.size <= size && whole.size <= ProxyHeader::kMaxBytes, "a header has its bytes");
  const ProxyHeader alone = penstock::ReadProxyHeader(bytes.substr(0, whole.size));
  Expect(alone.state == State::kDone && alone.size == whole.size && alone.client == whole.client,
         "what follows makes no difference");
  for (size_t less = 0; less < whole.size; ++less) {
    Expect(penstock::ReadProxyHeader(bytes.substr(0, less)).state == State::kNeedMore, "each beginning needs more");
  }
  return 0;
}
