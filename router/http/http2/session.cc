#include "router/http/http2/session.h"

#include <nghttp2/nghttp2.h>

#include <array>
#include <exception>
#include <new>
#include <vector>

#include "absl/strings/str_cat.h"

namespace penstock::http2 {
namespace {

// A reset ends work that the router has begun.
constexpr double kCostOfReset = 5;
// A piece of a body with fewer bytes costs a frame.
constexpr size_t kTinyUpload = 16;
// A client may renew both windows each time it has read two KiB of an answer, or a piece of so many bytes.
constexpr double kBytesPerRenewal = 1024;
constexpr size_t kTiny = 64;
constexpr double kEarnedByPiece = 2;
// A few bytes may stand for many, which nghttp2 looks at one by one. So many are decoded in one go, and so many of one
// head beyond the limit.
constexpr size_t kDecodedAtOnce = 128 << 10;
constexpr size_t kExcess = 128 << 10;
constexpr int kFirstUnknown = NGHTTP2_CONTINUATION + 1;
// Fields of a head are counted with 32 bytes each in HTTP/2.
constexpr uint32_t kOverhead = 32;
constexpr uint32_t kFieldOverhead = kOverhead * 100;

absl::string_view AsText(const uint8_t* bytes, size_t size) {
  return absl::string_view(reinterpret_cast<const char*>(bytes), size);
}

nghttp2_nv FieldOf(absl::string_view name, absl::string_view value) {
  const auto bytes = [](absl::string_view text) {
    return const_cast<uint8_t*>(reinterpret_cast<const uint8_t*>(text.data()));
  };
  return {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

// The frames that the router may be flooded with. A head that begins a request gets its frame back, and large pieces of
// bodies bring a request nearer.
double CostOf(const nghttp2_frame_hd& frame) {
  switch (frame.type) {
    case NGHTTP2_DATA:
      return frame.length < kTinyUpload && (frame.flags & NGHTTP2_FLAG_END_STREAM) == 0 ? 1 : 0;
    case NGHTTP2_RST_STREAM:
      return kCostOfReset;
    default:
      return 1;
  }
}

}  // namespace

// The functions that nghttp2 calls. A result other than zero ends the session.
struct Session::Callbacks {
  static Session& Of(void* session) { return *static_cast<Session*>(session); }
  // No exception may pass the library.
  template <class Call>
  static int Guarded(void* user, Call call) {
    try {
      call(Of(user).owner_);
      return 0;
    } catch (const std::exception&) {
      Of(user).fault_ = Fault::kMemory;
      return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
  }

  static int BeginFrame(nghttp2_session*, const nghttp2_frame_hd* frame, void* user) {
    Of(user).Spend(CostOf(*frame));
    return Of(user).fault_ == Fault::kFlood ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
  }
  static int BeginHead(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
    if (frame->hd.type != NGHTTP2_HEADERS) return 0;
    Of(user).head_since_ = Of(user).now_;
    Of(user).head_bytes_ = 0;
    bool taken = false;
    const int failed = Guarded(user, [&](Owner& owner) {
      taken = owner.OnHead(frame->hd.stream_id, frame->headers.cat != NGHTTP2_HCAT_REQUEST);
    });
    if (taken) Of(user).budget_.Earn(1);
    if (failed != 0 || taken) return failed;
    nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id, NGHTTP2_REFUSED_STREAM);
    return 0;
  }
  static int Field(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name, size_t name_size,
                   const uint8_t* value, size_t value_size, uint8_t, void* user) {
    const int failed = Guarded(user, [&](Owner& owner) {
      owner.OnField(frame->hd.stream_id, AsText(name, name_size), AsText(value, value_size));
    });
    return failed != 0 ? failed : Of(user).CountField(name_size + value_size);
  }
  static int BadField(nghttp2_session*, const nghttp2_frame* frame, const uint8_t*, size_t name_size, const uint8_t*,
                      size_t value_size, uint8_t, void* user) {
    Of(user).owner_.OnBadField(frame->hd.stream_id);
    return Of(user).CountField(name_size + value_size);
  }
  static int Frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    const bool ends = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    const bool heads = frame->hd.type == NGHTTP2_HEADERS;
    if (heads) Of(user).head_since_ = Instant();
    if (heads && frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
      return Guarded(user, [&](Owner& owner) { owner.OnHeadEnd(frame->hd.stream_id, ends); });
    }
    if (!ends || (!heads && frame->hd.type != NGHTTP2_DATA)) return 0;
    return Guarded(user, [&](Owner& owner) { owner.OnBodyEnd(frame->hd.stream_id); });
  }
  static int BadFrame(nghttp2_session*, const nghttp2_frame* frame, int, void* user) {
    if (frame->hd.type == NGHTTP2_HEADERS) Of(user).head_since_ = Instant();
    Of(user).owner_.OnMalformed();
    Of(user).Spend(1);
    return 0;
  }
  // Frames of kinds that nobody here knows are passed over, and counted as they begin.
  static int Unknown(nghttp2_session*, void**, const nghttp2_frame_hd*, void*) { return NGHTTP2_ERR_CANCEL; }
  static int Body(nghttp2_session*, uint8_t, StreamId stream, const uint8_t* bytes, size_t size, void* user) {
    return Guarded(user, [&](Owner& owner) { owner.OnBody(stream, AsText(bytes, size)); });
  }
  static int Closed(nghttp2_session*, StreamId stream, uint32_t, void* user) {
    return Guarded(user, [&](Owner& owner) { owner.OnClosed(stream); });
  }
  // The library ends the connection by itself where a frame breaks the rules, or too many came. It ends a stream alone
  // where only that one breaks them, which a client may provoke in place of a reset of its own.
  static int Sent(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    if (frame->hd.type == NGHTTP2_RST_STREAM) Of(user).OnReset(frame->rst_stream.error_code);
    if (frame->hd.type != NGHTTP2_GOAWAY || Of(user).fault_ != Fault::kNone) return 0;
    const uint32_t code = frame->goaway.error_code;
    if (code == NGHTTP2_ENHANCE_YOUR_CALM) {
      Of(user).fault_ = Fault::kFlood;
    } else if (code != NGHTTP2_NO_ERROR) {
      Of(user).fault_ = Fault::kMalformed;
    }
    return 0;
  }
  static ssize_t Room(nghttp2_session*, StreamId stream, uint8_t* into, size_t size, uint32_t* flags,
                      nghttp2_data_source*, void* user) {
    bool ended = false;
    const size_t taken = Of(user).owner_.OnRoom(stream, std::span<uint8_t>(into, size), ended);
    if (ended) {
      *flags |= NGHTTP2_DATA_FLAG_EOF;
    } else if (taken == 0) {
      return NGHTTP2_ERR_DEFERRED;
    }
    if (taken >= kTiny) Of(user).budget_.Earn(kEarnedByPiece + static_cast<double>(taken) / kBytesPerRenewal);
    return static_cast<ssize_t>(taken);
  }

  static nghttp2_session_callbacks* Make() {
    nghttp2_session_callbacks* made = nullptr;
    if (nghttp2_session_callbacks_new(&made) != 0) throw std::bad_alloc();
    nghttp2_session_callbacks_set_on_begin_frame_callback(made, BeginFrame);
    nghttp2_session_callbacks_set_on_begin_headers_callback(made, BeginHead);
    nghttp2_session_callbacks_set_on_header_callback(made, Field);
    nghttp2_session_callbacks_set_on_invalid_header_callback(made, BadField);
    nghttp2_session_callbacks_set_on_frame_recv_callback(made, Frame);
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(made, BadFrame);
    nghttp2_session_callbacks_set_unpack_extension_callback(made, Unknown);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(made, Body);
    nghttp2_session_callbacks_set_on_stream_close_callback(made, Closed);
    nghttp2_session_callbacks_set_on_frame_send_callback(made, Sent);
    return made;
  }
  static nghttp2_option* MakeOption() {
    nghttp2_option* made = nullptr;
    if (nghttp2_option_new(&made) != 0) throw std::bad_alloc();
    nghttp2_option_set_no_auto_window_update(made, 1);
    nghttp2_option_set_no_closed_streams(made, 1);
    // The library tells of a frame of an unknown kind only where the kind is named.
    for (int kind = kFirstUnknown; kind <= 0xff; ++kind) {
      nghttp2_option_set_user_recv_extension_type(made, static_cast<uint8_t>(kind));
    }
    // The library counts each part of a frame's first bytes as a frame. The budget of frames bounds them here.
    nghttp2_option_set_max_continuations(made, static_cast<size_t>(FrameBudget::kMost));
    return made;
  }
};

void Session::Free::operator()(nghttp2_session* session) const { nghttp2_session_del(session); }

// All sessions share one set of callbacks and options, which the library only reads.
Session::Session(Owner& owner, const Options& options)
    : owner_(owner), most_of_head_(options.max_header + kFieldOverhead + kExcess) {
  static nghttp2_session_callbacks* const callbacks = Callbacks::Make();
  static nghttp2_option* const option = Callbacks::MakeOption();
  nghttp2_session* made = nullptr;
  if (nghttp2_session_server_new2(&made, callbacks, this, option) != 0) throw std::bad_alloc();
  session_.reset(made);
  const std::array<nghttp2_settings_entry, 4> settings = {
      {{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, options.max_streams},
       {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kStreamWindow},
       {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, options.max_header + kFieldOverhead},
       {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1}}};
  if (nghttp2_submit_settings(made, NGHTTP2_FLAG_NONE, settings.data(), settings.size()) != 0 ||
      nghttp2_session_set_local_window_size(made, NGHTTP2_FLAG_NONE, 0, kWindow) != 0) {
    throw std::bad_alloc();
  }
}

Session::~Session() = default;

void Session::Spend(double frames) {
  if (frames > 0 && !budget_.Spend(frames, now_)) fault_ = Fault::kFlood;
}

void Session::OnReset(uint32_t code) {
  // These are the router's own (Drop, Abort, BeginHead).
  if (code == NGHTTP2_NO_ERROR || code == NGHTTP2_INTERNAL_ERROR || code == NGHTTP2_REFUSED_STREAM) return;
  const bool sound = fault_ == Fault::kNone;
  Spend(kCostOfReset);
  if (sound && fault_ == Fault::kFlood) GoAway(/*flood=*/true);
}

int Session::CountField(size_t bytes) {
  head_bytes_ += bytes + kOverhead;
  decoded_ += bytes + kOverhead;
  if (head_bytes_ > most_of_head_) {
    fault_ = Fault::kFlood;
    return NGHTTP2_ERR_CALLBACK_FAILURE;
  }
  return paused() ? NGHTTP2_ERR_PAUSE : 0;
}

bool Session::paused() const { return decoded_ > kDecodedAtOnce; }

bool Session::Receive(absl::string_view& bytes, Instant now) {
  if (fault_ != Fault::kNone) return false;
  now_ = now;
  decoded_ = 0;
  const ssize_t taken =
      nghttp2_session_mem_recv(session_.get(), reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  if (taken == NGHTTP2_ERR_FLOODED) fault_ = Fault::kFlood;
  if (taken == NGHTTP2_ERR_NOMEM) fault_ = Fault::kMemory;
  if (taken < 0 && fault_ == Fault::kNone) fault_ = Fault::kMalformed;
  if (fault_ == Fault::kFlood) GoAway(/*flood=*/true);
  if (taken > 0) bytes.remove_prefix(static_cast<size_t>(taken));
  return fault_ == Fault::kNone;
}

absl::string_view Session::Output() {
  const uint8_t* bytes = nullptr;
  const ssize_t size = nghttp2_session_mem_send(session_.get(), &bytes);
  if (size >= 0) return AsText(bytes, static_cast<size_t>(size));
  if (fault_ == Fault::kNone) fault_ = Fault::kMemory;
  return {};
}

void Session::Answer(StreamId stream, int status, const HeaderList& headers, bool ended) {
  const std::string code = absl::StrCat(status);
  std::vector<nghttp2_nv> fields;
  fields.reserve(headers.size() + 1);
  fields.push_back(FieldOf(":status", code));
  for (const auto [name, value] : headers) fields.push_back(FieldOf(name, value));
  nghttp2_data_provider provider{{}, Callbacks::Room};
  nghttp2_submit_response(session_.get(), stream, fields.data(), fields.size(), ended ? nullptr : &provider);
}

void Session::Continue(StreamId stream) {
  const nghttp2_nv field = FieldOf(":status", "100");
  nghttp2_submit_headers(session_.get(), NGHTTP2_FLAG_NONE, stream, nullptr, &field, 1, nullptr);
}

void Session::Resume(StreamId stream) { nghttp2_session_resume_data(session_.get(), stream); }

void Session::Drop(StreamId stream) {
  nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, stream, NGHTTP2_NO_ERROR);
}

void Session::Abort(StreamId stream) {
  nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, stream, NGHTTP2_INTERNAL_ERROR);
}

void Session::ConsumeStream(StreamId stream, size_t bytes) {
  nghttp2_session_consume_stream(session_.get(), stream, bytes);
}

void Session::ConsumeConnection(size_t bytes) { nghttp2_session_consume_connection(session_.get(), bytes); }

void Session::GoAway(bool flood) {
  nghttp2_submit_goaway(session_.get(), NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(session_.get()),
                        flood ? NGHTTP2_ENHANCE_YOUR_CALM : NGHTTP2_NO_ERROR, nullptr, 0);
}

}  // namespace penstock::http2
