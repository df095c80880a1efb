#include "router/session/client/client.h"

namespace penstock {

boost::asio::awaitable<bool> SendEvents(Client& client, const HeaderList& headers,
                                        const std::vector<absl::string_view>& pieces) {
  const Written written = client.Events(headers, pieces);
  if (written == Written::kPart) co_return co_await client.FinishEvents();
  co_return written == Written::kAll;
}

boost::asio::awaitable<bool> SendWhole(Client& client, int status, absl::string_view content_type,
                                       const HeaderList& headers, absl::string_view body) {
  const Written written = client.Whole(status, content_type, headers, body);
  if (written == Written::kPart) co_return co_await client.FinishWhole();
  co_return written == Written::kAll;
}

boost::asio::awaitable<bool> SendPart(Client& client, absl::string_view bytes) {
  const Written written = client.Part(bytes);
  if (written == Written::kPart) co_return co_await client.FinishWhole();
  co_return written == Written::kAll;
}

}  // namespace penstock
