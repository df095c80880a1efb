// A client in front of another one that gets whole JSON answers in gzip.
//
// An answer passes as it is when it is short, has another type or status, or has no length. So do streams, and answers
// whose headers speak of their bytes. Wherever JSON could be compressed, Vary tells it. A compressed answer is never
// written at once: FinishWhole() compresses a slice, lets the loop do other work, and goes on. Belongs to the coroutine
// of one request, on one loop.
#ifndef PENSTOCK_ROUTER_HTTP_CODING_GZIP_CLIENT_H_
#define PENSTOCK_ROUTER_HTTP_CODING_GZIP_CLIENT_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "router/http/coding/gzip_encoder.h"
#include "router/session/client/forwarding_client.h"

namespace penstock {

// Accept-Encoding names gzip or *, and not with q=0, in its first 32 entries.
bool AcceptsGzip(absl::string_view accept_encoding);

class GzipClient final : public ForwardingClient {
 public:
  // Answers of `above` bytes and more are compressed, for a client that `takes_gzip`.
  GzipClient(Client& client, boost::asio::io_context& loop, uint64_t above, bool takes_gzip)
      : ForwardingClient(client), loop_(loop), above_(above), takes_gzip_(takes_gzip) {}

  Written Whole(int status, absl::string_view content_type, const HeaderList& headers, absl::string_view body) override;
  void SetStatus(int status) override;
  void BeginWhole(absl::string_view content_type, const HeaderList& headers, std::optional<uint64_t> length) override;
  Written Part(absl::string_view bytes) override;
  boost::asio::awaitable<bool> FinishWhole() override;
  boost::asio::awaitable<bool> End() override;
  boost::asio::awaitable<bool> Error(const ApiError& error) override;

 private:
  struct Held {
    int status = 0;
    std::string content_type;
    HeaderList headers;
  };
  bool Compresses(uint64_t length, const HeaderList& headers);
  // Compresses the input that is left into `out_`.
  boost::asio::awaitable<void> Compress();
  boost::asio::awaitable<bool> SendRest();

  boost::asio::io_context& loop_;
  const uint64_t above_;
  const bool takes_gzip_;
  int status_ = http_status::kOk;       // That of a whole answer in parts.
  std::optional<GzipEncoder> encoder_;  // Set while the answer is compressed.
  std::unique_ptr<const Held> held_;    // A whole answer that has not begun.
  absl::string_view input_;
  std::string out_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_CODING_GZIP_CLIENT_H_
