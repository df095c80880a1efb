// A client in front of another one: every call passes. A class that changes some of them derives from it.
#ifndef PENSTOCK_ROUTER_SESSION_CLIENT_FORWARDING_CLIENT_H_
#define PENSTOCK_ROUTER_SESSION_CLIENT_FORWARDING_CLIENT_H_

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "router/session/client/client.h"

namespace penstock {

class ForwardingClient : public Client {
 public:
  explicit ForwardingClient(Client& client) : client_(client) {}

  Written Whole(int status, absl::string_view content_type, const HeaderList& headers,
                absl::string_view body) override {
    return client_.Whole(status, content_type, headers, body);
  }
  void SetStatus(int status) override { client_.SetStatus(status); }
  void BeginWhole(absl::string_view content_type, const HeaderList& headers, std::optional<uint64_t> length) override {
    client_.BeginWhole(content_type, headers, length);
  }
  Written Part(absl::string_view bytes) override { return client_.Part(bytes); }
  boost::asio::awaitable<bool> FinishWhole() override { return client_.FinishWhole(); }
  Written Events(const HeaderList& headers, const std::vector<absl::string_view>& pieces) override {
    return client_.Events(headers, pieces);
  }
  boost::asio::awaitable<bool> FinishEvents() override { return client_.FinishEvents(); }
  boost::asio::awaitable<bool> End() override { return client_.End(); }
  boost::asio::awaitable<bool> Error(const ApiError& error) override { return client_.Error(error); }
  std::string unfit() const override { return client_.unfit(); }
  void Forget() override { client_.Forget(); }
  void Detach() override { client_.Detach(); }
  void Attach() override { client_.Attach(); }
  void KeepAlive(const HeaderList& headers) override { client_.KeepAlive(headers); }
  bool begun() const override { return client_.begun(); }
  int status() const override { return client_.status(); }
  bool gone() const override { return client_.gone(); }
  void Watch(std::function<void()> on_gone) override { client_.Watch(std::move(on_gone)); }
  void Unwatch() override { client_.Unwatch(); }

 protected:
  ~ForwardingClient() = default;
  Client& client() const { return client_; }

 private:
  Client& client_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SESSION_CLIENT_FORWARDING_CLIENT_H_
