// The head of an answer of HTTP/2: lower-case names, no field that speaks of a connection, no byte that ends a line.
#ifndef PENSTOCK_ROUTER_HTTP_HTTP2_ANSWER_HEAD_H_
#define PENSTOCK_ROUTER_HTTP_HTTP2_ANSWER_HEAD_H_

#include "absl/strings/string_view.h"
#include "backends/dialect/headers.h"

namespace penstock::http2 {

class AnswerHead {
 public:
  AnswerHead();  // With the date.
  void Add(absl::string_view name, absl::string_view value);
  const HeaderList& fields() const { return fields_; }

 private:
  HeaderList fields_;
};

}  // namespace penstock::http2

#endif  // PENSTOCK_ROUTER_HTTP_HTTP2_ANSWER_HEAD_H_
