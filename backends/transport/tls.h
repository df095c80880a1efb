// TLS over a non-blocking socket: OpenSSL with the manners of this program (try, and say what to wait for).
//
// A TlsContext is made once per configuration and shared by all loops; a TlsSession belongs to one connection and its
// loop. TLS 1.2 and newer, ALPN http/1.1. Servers may demand client certificates; clients always verify the engine's
// chain and name. Nothing here waits, allocates per byte, or logs.
#ifndef PENSTOCK_BACKENDS_TRANSPORT_TLS_H_
#define PENSTOCK_BACKENDS_TRANSPORT_TLS_H_

#include <boost/asio/buffer.hpp>
#include <boost/system/error_code.hpp>
#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"

// OpenSSL's, without its headers.
struct ssl_ctx_st;
struct ssl_st;
struct ssl_method_st;

namespace penstock {

// PEM texts; what is not given is empty.
struct TlsIdentity {
  std::string certificate;  // The leaf first, then its chain.
  std::string key;
};

class TlsContext {
 public:
  using Pointer = std::shared_ptr<const TlsContext>;

  // With `client_ca`, clients need a certificate that it signed.
  static absl::StatusOr<Pointer> ForServer(const TlsIdentity& identity, const std::string& client_ca);
  // Trusts `ca`, or the system's store where it is empty. An identity without certificate shows none.
  static absl::StatusOr<Pointer> ForClient(const std::string& ca, const TlsIdentity& identity);

  ssl_ctx_st* native() const { return context_.get(); }

 private:
  struct Free {
    void operator()(ssl_ctx_st* context) const;
  };
  explicit TlsContext(const ssl_method_st* method);
  absl::Status Use(const TlsIdentity& identity);
  absl::Status Trust(const std::string& ca);

  std::unique_ptr<ssl_ctx_st, Free> context_;
};

class TlsSession {
 public:
  using ErrorCode = boost::system::error_code;

  static std::unique_ptr<TlsSession> Accept(const TlsContext& context, int socket);
  // `name` is sent to the server and must be in its certificate; an address is checked as one.
  static std::unique_ptr<TlsSession> Connect(const TlsContext& context, int socket, const std::string& name);

  // would_block: to be called again once the socket has bytes or, when wants_write, room. Other errors are final.
  ErrorCode Handshake();
  // would_block, eof after an orderly end, connection_reset after a cut one.
  size_t ReadSome(boost::asio::mutable_buffer into, ErrorCode& error);
  // After would_block it must be given the same bytes again.
  size_t WriteSome(std::span<const boost::asio::const_buffer> buffers, ErrorCode& error);
  bool wants_write() const { return wants_write_; }
  // True when decrypted bytes are at hand; handles what the protocol itself sent. `quiet` as long as nothing ended it.
  bool HasInput(bool& quiet);
  // Says goodbye if there is room for it.
  void Close();

  // Why the handshake failed.
  std::string error_text() const { return error_text_; }

 private:
  struct Free {
    void operator()(ssl_st* ssl) const;
  };
  explicit TlsSession(const TlsContext& context, int socket);
  ErrorCode Outcome(int result);

  std::unique_ptr<ssl_st, Free> ssl_;
  bool wants_write_ = false;
  std::string error_text_;
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_TRANSPORT_TLS_H_
