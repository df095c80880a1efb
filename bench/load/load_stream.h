// One streamed request on the client's side: head, body, tokens. Asio-free but for buffers; used by load_client.cc.
#ifndef PENSTOCK_BENCH_LOAD_LOAD_STREAM_H_
#define PENSTOCK_BENCH_LOAD_LOAD_STREAM_H_

#include <boost/asio/buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/optional.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/strings/string_view.h"
#include "bench/figures/results.h"
#include "bench/load/stream_counter.h"

namespace penstock::bench {

// Receives a body. Counts its events, and stores the first bytes of any other body (an error).
class BodySink {
 public:
  void Put(absl::string_view bytes);
  int64_t TakeTexts();  // Events with text since the last call.
  const StreamCounter& counter() const { return counter_; }
  const std::string& head_bytes() const { return kept_; }

 private:
  StreamCounter counter_;
  std::string kept_;  // The first bytes of the body.
  int64_t texts_ = 0;
};

// A Beast body that hands every piece to a BodySink.
struct SinkBody {
  using value_type = BodySink*;
  class reader {
   public:
    template <bool is_request, class Fields>
    reader(boost::beast::http::header<is_request, Fields>&, value_type& sink) : sink_(sink) {}
    void init(const boost::optional<std::uint64_t>&, boost::system::error_code& error) { error = {}; }
    template <class Buffers>
    std::size_t put(const Buffers& buffers, boost::system::error_code& error) {
      error = {};
      std::size_t size = 0;
      for (auto it = boost::asio::buffer_sequence_begin(buffers); it != boost::asio::buffer_sequence_end(buffers);
           ++it) {
        const boost::asio::const_buffer piece = *it;
        sink_->Put(absl::string_view(static_cast<const char*>(piece.data()), piece.size()));
        size += piece.size();
      }
      return size;
    }
    void finish(boost::system::error_code& error) { error = {}; }

   private:
    value_type& sink_;  // Set after construction.
  };
};

using SinkParser = boost::beast::http::response_parser<SinkBody>;

// Turns an answer into the record's fate and reason. `broken` is the reason why the connection ended early; empty: the
// answer is complete.
void Judge(const SinkParser& parser, const BodySink& sink, const std::string& broken, RequestRecord& record);

}  // namespace penstock::bench

#endif  // PENSTOCK_BENCH_LOAD_LOAD_STREAM_H_
