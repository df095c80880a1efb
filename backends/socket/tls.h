// TLS over a non-blocking socket, with OpenSSL. Each call tries once and reports whether to wait.
//
// All loops share one TlsContext per configuration. A TlsSession belongs to one connection and its loop. TLS 1.2 and
// newer, ALPN http/1.1, and h2 of servers that speak it. A server may require client certificates. A client always
// verifies the chain and the name of the engine. No call waits, allocates per byte, or logs. Messages of the protocol
// itself are bounded: a peer that sends only those ends its connection.
#ifndef PENSTOCK_BACKENDS_SOCKET_TLS_H_
#define PENSTOCK_BACKENDS_SOCKET_TLS_H_

#include <boost/asio/buffer.hpp>
#include <boost/system/error_code.hpp>
#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"

// Types of OpenSSL, without its headers.
struct ssl_ctx_st;
struct ssl_st;
struct ssl_method_st;

namespace penstock {

// PEM texts. A missing text is empty.
struct TlsIdentity {
  std::string certificate;  // The leaf first, then its chain.
  std::string key;
};

class TlsContext {
 public:
  using Pointer = std::shared_ptr<const TlsContext>;

  // Clients need a certificate that `client_ca` signed. Empty: no certificate. `http2`: clients may choose h2.
  static absl::StatusOr<Pointer> ForServer(const TlsIdentity& identity, const std::string& client_ca, bool http2);
  // Trusts `ca`, or the store of the system when `ca` is empty. The identity may be empty.
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

  // Messages of the protocol itself (KeyUpdate, tickets, alerts) in a row, without a byte of data. A server sends some
  // tickets; each message costs about 30 us.
  static constexpr int kMostMessages = 32;

  static std::unique_ptr<TlsSession> Accept(const TlsContext& context, int socket);
  // The certificate of the server must be valid for `name`, a host name or an address.
  static std::unique_ptr<TlsSession> Connect(const TlsContext& context, int socket, const std::string& name);

  // would_block: call it again when the socket is readable, or writable if wants_write(). Other errors are final.
  ErrorCode Handshake();
  // would_block: no bytes yet. eof: orderly end. connection_reset: any other end.
  size_t ReadSome(boost::asio::mutable_buffer into, ErrorCode& error);
  // After would_block, pass the same bytes again.
  size_t WriteSome(std::span<const boost::asio::const_buffer> buffers, ErrorCode& error);
  bool wants_write() const { return wants_write_; }
  // True when decrypted bytes are available. Also handles messages of the protocol itself. `quiet` is false when the
  // session has input or has ended.
  bool HasInput(bool& quiet);
  // Sends the closing message if the socket has room.
  void Close();

  // The reason of a failed handshake.
  std::string error_text() const { return error_text_; }

 private:
  struct Free {
    void operator()(ssl_st* ssl) const;
  };
  explicit TlsSession(const TlsContext& context, int socket);
  ErrorCode Outcome(int result);
  // Calls again for as long as a call handled only a message of the protocol itself.
  template <class Call>
  int Pass(Call call);
  static void OnMessage(int sent, int version, int type, const void* data, size_t size, ssl_st* ssl, void* session);

  std::unique_ptr<ssl_st, Free> ssl_;
  bool wants_write_ = false;
  int messages_ = 0;  // Since the last byte of data.
  std::string error_text_;
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_SOCKET_TLS_H_
