#include "app/top/state_reader.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <utility>

#include "absl/status/status.h"
#include "backends/transport/fetch.h"
#include "base/clock.h"
#include "base/harmless.h"

namespace penstock::top {
namespace {

constexpr Duration kConnectTimeout = Duration::Seconds(1);

}  // namespace

StateReader::StateReader(UpstreamAddress address, std::string url, std::string key, TlsContext::Pointer tls)
    : key_(std::move(key)) {
  link_.url = std::move(url);
  link_.age = -1;
  UpstreamPool::Options options;
  options.connect_timeout = kConnectTimeout;
  options.tls = std::move(tls);
  pool_.emplace(loop_, std::move(address), std::move(options));
}

void StateReader::Begin() {
  if (std::exchange(busy_, true)) return;
  loop_.restart();
  boost::asio::co_spawn(loop_, Ask(), boost::asio::detached);
}

void StateReader::Read() {
  Begin();
  while (busy_ && loop_.run_one() > 0) {
  }
}

const Link& StateReader::link() {
  if (read_at_) link_.age = (Now() - *read_at_).seconds();
  return link_;
}

boost::asio::awaitable<void> StateReader::Ask() {
  const auto body = co_await FetchGood(*pool_, "/penstock/state", key_);
  absl::StatusOr<TopState> state = body.ok() ? ReadState(*body) : body.status();
  if (state.ok()) {
    state_ = *std::move(state);
    read_at_ = Now();
    link_.error.clear();
  } else if (state.status().code() == absl::StatusCode::kUnauthenticated) {
    link_.error = key_.empty() ? "the router wants an admin key in PENSTOCK_ADMIN_KEY"
                               : "the router refuses the admin key in PENSTOCK_ADMIN_KEY";
  } else if (state.status().code() == absl::StatusCode::kNotFound) {
    link_.error = "no page of a router is there; with `admin_listen`, give that address";
  } else {
    link_.error = Harmless(state.status().message());
  }
  busy_ = false;
}

}  // namespace penstock::top
