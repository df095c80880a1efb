// The head of a request of HTTP/2 from its fields, with the rules that the head of HTTP/1.1 has. Pure.
//
// nghttp2 has checked the pseudo-header fields and the bytes of every field before. The first fault stays. Fields
// behind it are passed over, so that the compression of the connection goes on.
#ifndef PENSTOCK_ROUTER_HTTP_HTTP2_HEAD_BUILDER_H_
#define PENSTOCK_ROUTER_HTTP_HTTP2_HEAD_BUILDER_H_

#include <cstddef>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "router/http/request/request_head.h"
#include "router/openai/error/api_error.h"

namespace penstock::http2 {

class HeadBuilder {
 public:
  explicit HeadBuilder(size_t max_bytes) : max_bytes_(max_bytes) {}

  void Add(absl::string_view name, absl::string_view value);
  // A field behind the body: counted, and dropped.
  void AddTrailer(absl::string_view name, absl::string_view value);
  // A field that HTTP/2 forbids.
  void FailField();
  // All fields are there.
  void End();
  // There is no memory for the head: the part that a refusal reads stays.
  void Shorten();
  // The same for a head that is still coming: nothing more of it is stored.
  void Refuse(ApiError error);

  // Bytes of memory that the head takes, copies and room for more fields included.
  size_t held() const {
    return head_.headers.held() + head_.method.capacity() + head_.target.capacity() + authority_.capacity() +
           cookies_.capacity();
  }
  const std::optional<ApiError>& error() const { return error_; }
  RequestHead& head() { return head_; }

 private:
  void Fail(ApiError error);
  // False: the field is above a limit.
  bool Count(absl::string_view name, absl::string_view value);
  void AddPseudo(absl::string_view name, absl::string_view value);
  // Two recipients could read it in two ways.
  bool Doubtful(absl::string_view name);

  const size_t max_bytes_;
  RequestHead head_;
  std::string authority_;
  std::string cookies_;  // HTTP/1.1 has one field of them.
  size_t bytes_ = 0;     // Names and values so far, with four bytes for each of them.
  int fields_ = 0;
  std::optional<ApiError> error_;
};

}  // namespace penstock::http2

#endif  // PENSTOCK_ROUTER_HTTP_HTTP2_HEAD_BUILDER_H_
