// Addresses of listeners and engines as text. The one parser of host:port in the program. No name is resolved.
#ifndef PENSTOCK_CONFIG_TEXT_ADDRESSES_H_
#define PENSTOCK_CONFIG_TEXT_ADDRESSES_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock {

struct HostPort {
  std::string host;  // Without the brackets of an IPv6 address. Empty, for a listener: every IPv4 address.
  uint16_t port = 0;
  // "host:port", IPv6 in brackets.
  std::string Text() const;
  bool operator==(const HostPort&) const = default;
};

// "host:port", "[::1]:80" or ":80"; port 0 asks the system for one. InvalidArgument names the fault.
absl::StatusOr<HostPort> ParseHostPort(absl::string_view text);

// The address of a listener for clients.
struct ListenAddress {
  HostPort tcp;
  std::string socket_path;  // Of a unix socket, absolute; empty for TCP.
  // "host:port" or "unix:/path".
  std::string Text() const;
  bool operator==(const ListenAddress&) const = default;
};

// Takes the forms of ParseHostPort, and "unix:/path".
absl::StatusOr<ListenAddress> ParseListen(absl::string_view text);

struct EngineUrl {
  HostPort address;
  std::string base_path;  // Without trailing slash; usually empty.
  bool tls = false;       // https
  // The path of a unix socket, absolute; empty for TCP. The address then is localhost:80.
  std::string socket_path;
  // "host:port" or "unix:/path": the default id of a replica.
  std::string Name() const;
  // Equal for all spellings of one address, and with Name() for no two others.
  std::string Key() const;
  // The engine is on this machine.
  bool IsLoopback() const;
  bool operator==(const EngineUrl&) const = default;
};

// "http[s]://host[:port][/base]", port 80 or 443 by default, or "unix:/path" for plain HTTP over a unix socket. A
// trailing /v1 is no part of the base path: the paths of an engine begin with it. User names, queries, fragments and
// the path of a request are errors.
absl::StatusOr<EngineUrl> ParseEngineUrl(absl::string_view text);

// Requests to the engine would come to the listener: the same socket, or the same port of the same host. All addresses
// of loopback and those that mean every address count as one host.
bool Reaches(const EngineUrl& url, const ListenAddress& listener);

// Only one of the listeners can have its address. They have the same socket, or one port and the same host, where one
// of them may want every host. False where only a look-up of a name could tell, and for ports that the system chooses.
bool Collide(const ListenAddress& a, const ListenAddress& b);

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_TEXT_ADDRESSES_H_
