// A source of look-ups in which some names hang until the test releases them. Thread-safe.
#ifndef PENSTOCK_TESTS_BACKENDS_NAMES_HANGING_NAMES_H_
#define PENSTOCK_TESTS_BACKENDS_NAMES_HANGING_NAMES_H_

#include <boost/asio/error.hpp>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "backends/names/name_look_ups.h"

namespace penstock {

class HangingNames {
 public:
  // "slow..." hangs, "none" does not exist, any other name has the addresses.
  NameLookUps::Source source() {
    return [shared = shared_](const std::string& name) {
      std::unique_lock lock(shared->mutex);
      ++shared->asked;
      shared->changed.notify_all();
      if (name.starts_with("slow")) shared->changed.wait(lock, [&shared] { return shared->released; });
      if (name == "none") return NameAnswer{boost::asio::error::host_not_found, {}};
      NameAnswer answer;
      for (const std::string& address : shared->addresses) {
        answer.addresses.push_back(boost::asio::ip::make_address(address));
      }
      return answer;
    };
  }

  ~HangingNames() { Release(); }
  // Every look-up goes on.
  void Release() {
    const std::lock_guard lock(shared_->mutex);
    shared_->released = true;
    shared_->changed.notify_all();
  }
  void HangAgain(std::vector<std::string> addresses) {
    const std::lock_guard lock(shared_->mutex);
    shared_->released = false;
    shared_->addresses = std::move(addresses);
  }
  void WaitForAsked(int count) {
    std::unique_lock lock(shared_->mutex);
    shared_->changed.wait(lock, [this, count] { return shared_->asked >= count; });
  }
  int asked() {
    const std::lock_guard lock(shared_->mutex);
    return shared_->asked;
  }

 private:
  // The threads of look-ups outlive the test.
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    bool released = false;
    std::vector<std::string> addresses = {"127.0.0.1"};
    int asked = 0;
  };
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
};

}  // namespace penstock

#endif  // PENSTOCK_TESTS_BACKENDS_NAMES_HANGING_NAMES_H_
