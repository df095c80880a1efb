#include "base/listen_failure.h"

#include <system_error>

namespace penstock {
namespace {

const char* Remedy(std::errc code) {
  switch (code) {
    case std::errc::address_in_use:
      return "; another process listens there (`ss -ltnp` shows which): stop it, or give another address";
    case std::errc::permission_denied:
      return "; ports below 1024 need root or CAP_NET_BIND_SERVICE";
    case std::errc::address_not_available:
      return "; this machine has no such address (0.0.0.0 stands for every one)";
    default:
      return "";
  }
}

}  // namespace

std::string ListenFailure(const std::string& address, const std::string& message, int code) {
  const auto error = static_cast<std::errc>(code);
  // The rights of a socket file are those of its folder.
  const bool folder = error == std::errc::permission_denied && address.starts_with("unix:");
  return "cannot listen on " + address + ": " + message +
         (folder ? "; this user may not write its folder" : Remedy(error));
}

}  // namespace penstock
