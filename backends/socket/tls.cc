#include "backends/socket/tls.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <boost/asio/error.hpp>
#include <csignal>
#include <cstring>
#include <span>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace asio = boost::asio;

namespace {

// The largest record. Small pieces are gathered up to it.
constexpr size_t kRecord = 16 << 10;
constexpr std::array<unsigned char, 9> kAlpn = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
// The first one that a client offers, too, is chosen.
constexpr std::array<unsigned char, 12> kAlpnWithHttp2 = {2, 'h', '2', 8, 'h', 't', 't', 'p', '/', '1', '.', '1'};

template <class T, void (*kFree)(T*)>
struct Freed {
  void operator()(T* object) const { kFree(object); }
};
using Memory = std::unique_ptr<BIO, Freed<BIO, BIO_free_all>>;
using Certificate = std::unique_ptr<X509, Freed<X509, X509_free>>;
using PrivateKey = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY, EVP_PKEY_free>>;

Memory Reading(const std::string& pem) { return Memory(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()))); }

Certificate NextCertificate(BIO* from) { return Certificate(PEM_read_bio_X509(from, nullptr, nullptr, nullptr)); }

// The newest reason in the error queue of OpenSSL. Empties the queue.
std::string Reason() {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return reason != nullptr ? reason : "unknown";
}

absl::Status Bad(absl::string_view what) { return absl::InvalidArgumentError(absl::StrCat(what, ": ", Reason())); }

// Without this callback OpenSSL asks for a passphrase on the terminal.
int NoPassphrase(char*, int, int, void*) { return 0; }

int ChooseProtocol(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* offered,
                   unsigned int offered_size, void* http2) {
  unsigned char* chosen = nullptr;
  const std::span<const unsigned char> known =
      http2 != nullptr ? std::span<const unsigned char>(kAlpnWithHttp2) : std::span<const unsigned char>(kAlpn);
  if (SSL_select_next_proto(&chosen, out_size, known.data(), static_cast<unsigned int>(known.size()), offered,
                            offered_size) != OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

bool IsAddress(const std::string& name) {
  std::array<unsigned char, sizeof(in6_addr)> address{};
  return inet_pton(AF_INET, name.c_str(), address.data()) == 1 ||
         inet_pton(AF_INET6, name.c_str(), address.data()) == 1;
}

}  // namespace

void TlsContext::Free::operator()(SSL_CTX* context) const { SSL_CTX_free(context); }

TlsContext::TlsContext(const SSL_METHOD* method) : context_(SSL_CTX_new(method)) {
  // OpenSSL writes without MSG_NOSIGNAL. A closed peer must be an error, not a signal.
  std::signal(SIGPIPE, SIG_IGN);
  SSL_CTX_set_min_proto_version(native(), TLS1_2_VERSION);
  SSL_CTX_set_options(native(), SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_mode(native(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                 SSL_MODE_RELEASE_BUFFERS | SSL_MODE_NO_AUTO_CHAIN);
  // Else one call handles all messages of the protocol itself that a peer has sent.
  SSL_CTX_clear_mode(native(), SSL_MODE_AUTO_RETRY);
  SSL_CTX_set_default_passwd_cb(native(), NoPassphrase);
}

absl::StatusOr<TlsContext::Pointer> TlsContext::ForServer(const TlsIdentity& identity, const std::string& client_ca,
                                                          bool http2) {
  std::shared_ptr<TlsContext> made(new TlsContext(TLS_server_method()));
  if (absl::Status used = made->Use(identity); !used.ok()) return used;
  SSL_CTX_set_alpn_select_cb(made->native(), ChooseProtocol, http2 ? made.get() : nullptr);
  // Only tickets resume a session, within this context.
  SSL_CTX_set_session_cache_mode(made->native(), SSL_SESS_CACHE_OFF);
  constexpr absl::string_view kSessions = "penstock";
  SSL_CTX_set_session_id_context(made->native(), reinterpret_cast<const unsigned char*>(kSessions.data()),
                                 kSessions.size());
  if (client_ca.empty()) return made;
  if (absl::Status trusted = made->Trust(client_ca); !trusted.ok()) return trusted;
  SSL_CTX_set_verify(made->native(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  return made;
}

absl::StatusOr<TlsContext::Pointer> TlsContext::ForClient(const std::string& ca, const TlsIdentity& identity) {
  std::shared_ptr<TlsContext> made(new TlsContext(TLS_client_method()));
  if (!identity.certificate.empty()) {
    if (absl::Status used = made->Use(identity); !used.ok()) return used;
  }
  if (ca.empty()) {
    if (SSL_CTX_set_default_verify_paths(made->native()) != 1) return Bad("the system's certificates");
  } else if (absl::Status trusted = made->Trust(ca); !trusted.ok()) {
    return trusted;
  }
  SSL_CTX_set_verify(made->native(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_alpn_protos(made->native(), kAlpn.data(), kAlpn.size());
  return made;
}

absl::Status TlsContext::Use(const TlsIdentity& identity) {
  const Memory chain = Reading(identity.certificate);
  const Certificate leaf = NextCertificate(chain.get());
  if (leaf == nullptr || SSL_CTX_use_certificate(native(), leaf.get()) != 1) return Bad("certificate");
  while (Certificate next = NextCertificate(chain.get())) {
    if (SSL_CTX_add1_chain_cert(native(), next.get()) != 1) return Bad("certificate");
  }
  ERR_clear_error();
  const Memory text = Reading(identity.key);
  const PrivateKey key(PEM_read_bio_PrivateKey(text.get(), nullptr, NoPassphrase, nullptr));
  if (key == nullptr) return Bad("key");
  if (SSL_CTX_use_PrivateKey(native(), key.get()) != 1) return Bad("key and certificate do not match");
  return absl::OkStatus();
}

absl::Status TlsContext::Trust(const std::string& ca) {
  const Memory text = Reading(ca);
  int taken = 0;
  while (Certificate next = NextCertificate(text.get())) {
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(native()), next.get()) != 1) return Bad("ca");
    if (SSL_CTX_add_client_CA(native(), next.get()) != 1) return Bad("ca");
    ++taken;
  }
  if (taken == 0) return Bad("ca");
  ERR_clear_error();
  return absl::OkStatus();
}

void TlsSession::Free::operator()(SSL* ssl) const { SSL_free(ssl); }

TlsSession::TlsSession(const TlsContext& context, int socket) : ssl_(SSL_new(context.native())) {
  SSL_set_fd(ssl_.get(), socket);
  SSL_set_msg_callback(ssl_.get(), OnMessage);
  SSL_set_msg_callback_arg(ssl_.get(), this);
}

void TlsSession::OnMessage(int sent, int, int type, const void*, size_t, SSL*, void* session) {
  const bool own = type == SSL3_RT_HANDSHAKE || type == SSL3_RT_ALERT || type == SSL3_RT_CHANGE_CIPHER_SPEC;
  if (sent == 0 && own) ++static_cast<TlsSession*>(session)->messages_;
}

template <class Call>
int TlsSession::Pass(Call call) {
  while (true) {
    ERR_clear_error();
    const int before = messages_;
    const int result = call();
    if (result == 1 || messages_ == before || messages_ > kMostMessages) return result;
    if (SSL_get_error(ssl_.get(), result) != SSL_ERROR_WANT_READ) return result;
  }
}

std::unique_ptr<TlsSession> TlsSession::Accept(const TlsContext& context, int socket) {
  std::unique_ptr<TlsSession> session(new TlsSession(context, socket));
  SSL_set_accept_state(session->ssl_.get());
  return session;
}

std::unique_ptr<TlsSession> TlsSession::Connect(const TlsContext& context, int socket, const std::string& name) {
  std::unique_ptr<TlsSession> session(new TlsSession(context, socket));
  SSL* ssl = session->ssl_.get();
  SSL_set_connect_state(ssl);
  if (IsAddress(name)) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name.c_str());
  } else {
    SSL_set_tlsext_host_name(ssl, name.c_str());
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    SSL_set1_host(ssl, name.c_str());
  }
  return session;
}

TlsSession::ErrorCode TlsSession::Outcome(int result) {
  wants_write_ = false;
  if (messages_ > kMostMessages) {
    ERR_clear_error();
    error_text_ = "too many messages of the TLS protocol itself";
    return asio::error::connection_reset;
  }
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_WRITE:
      wants_write_ = true;
      return asio::error::would_block;
    case SSL_ERROR_WANT_READ:
      return asio::error::would_block;
    case SSL_ERROR_ZERO_RETURN:
      return asio::error::eof;
    default: {
      const long verified = SSL_get_verify_result(ssl_.get());
      error_text_ = verified != X509_V_OK ? X509_verify_cert_error_string(verified) : Reason();
      ERR_clear_error();
      return asio::error::connection_reset;
    }
  }
}

TlsSession::ErrorCode TlsSession::Handshake() {
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_.get());
  if (result != 1) return Outcome(result);
  messages_ = 0;
  return ErrorCode();
}

size_t TlsSession::ReadSome(asio::mutable_buffer into, ErrorCode& error) {
  size_t count = 0;
  const int result = Pass([&] { return SSL_read_ex(ssl_.get(), into.data(), into.size(), &count); });
  error = result == 1 ? ErrorCode() : Outcome(result);
  if (result != 1) return 0;
  messages_ = 0;
  return count;
}

size_t TlsSession::WriteSome(std::span<const asio::const_buffer> buffers, ErrorCode& error) {
  static thread_local std::array<char, kRecord> record;
  size_t gathered = 0;
  for (const asio::const_buffer& buffer : buffers) {
    const size_t taken = std::min(buffer.size(), record.size() - gathered);
    std::memcpy(record.data() + gathered, buffer.data(), taken);
    gathered += taken;
    if (gathered == record.size()) break;
  }
  error = ErrorCode();
  if (gathered == 0) return 0;
  ERR_clear_error();
  size_t count = 0;
  const int result = SSL_write_ex(ssl_.get(), record.data(), gathered, &count);
  if (result != 1) error = Outcome(result);
  return result == 1 ? count : 0;
}

bool TlsSession::HasInput(bool& quiet) {
  char byte = 0;
  size_t count = 0;
  const int result = Pass([&] { return SSL_peek_ex(ssl_.get(), &byte, 1, &count); });
  quiet = result != 1 && Outcome(result) == asio::error::would_block;
  return result == 1;
}

void TlsSession::Close() {
  ERR_clear_error();
  SSL_shutdown(ssl_.get());
  ERR_clear_error();
}

}  // namespace penstock
