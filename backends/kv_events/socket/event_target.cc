#include "backends/kv_events/socket/event_target.h"

#include <boost/asio/ip/address.hpp>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "backends/names/literal.h"
#include "backends/names/name_look_ups.h"

namespace penstock {
namespace {

constexpr absl::string_view kTcp = "tcp://";

// The host of tcp://HOST:PORT where it is a name; else empty.
std::string NameIn(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (!absl::StartsWith(address, kTcp) || colon < kTcp.size()) return "";
  const std::string host = address.substr(kTcp.size(), colon - kTcp.size());
  if (host.starts_with('[')) return "";
  return AddressOfLiteral(host) ? "" : host;
}

}  // namespace

struct EventTarget::Known {
  std::mutex mutex;
  bool running = false;  // Guarded, as the next one.
  std::vector<boost::asio::ip::address> addresses;
};

EventTarget::EventTarget(std::string address) : EventTarget(std::move(address), NameLookUps::OfProcess()) {}

EventTarget::EventTarget(std::string address, NameLookUps& look_ups)
    : address_(std::move(address)), host_(NameIn(address_)), look_ups_(&look_ups), known_(std::make_shared<Known>()) {}

std::string EventTarget::At(size_t turn) {
  if (host_.empty()) return address_;
  std::string at;
  {
    const std::lock_guard lock(known_->mutex);
    if (const auto& all = known_->addresses; !all.empty()) {
      const boost::asio::ip::address& number = all[turn % all.size()];
      const std::string text = number.is_v6() ? absl::StrCat("[", number.to_string(), "]") : number.to_string();
      at = absl::StrCat(kTcp, text, address_.substr(kTcp.size() + host_.size()));
    }
    if (std::exchange(known_->running, true)) return at;
  }
  look_ups_->LookUp(host_, [known = known_](const NameAnswer& answer) {
    const std::lock_guard lock(known->mutex);
    known->running = false;
    if (!answer.addresses.empty()) known->addresses = answer.addresses;
  });
  return at;
}

}  // namespace penstock
