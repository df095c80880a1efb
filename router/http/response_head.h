// Builds the head of an answer to a client. It has the date, whose text is made once per second and thread.
#ifndef PENSTOCK_ROUTER_HTTP_RESPONSE_HEAD_H_
#define PENSTOCK_ROUTER_HTTP_RESPONSE_HEAD_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace penstock {

class ResponseHead {
 public:
  // `keep_alive` and `http10` as the request had them: HTTP/1.0 answers have no chunks.
  ResponseHead(int status, bool keep_alive, bool http10);

  // CR, LF and NUL in a value are dropped, so that nothing an engine says can end the head early.
  ResponseHead& Add(absl::string_view name, absl::string_view value);

  // The bytes up to and including the empty line.
  std::string WithLength(size_t content_length) &&;
  std::string Chunked() &&;
  // Another protocol follows.
  std::string Switching() &&;

 private:
  std::string text_;
  bool keep_alive_;
  bool http10_;
  bool bare_;  // The status allows no body, so no length either.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_RESPONSE_HEAD_H_
