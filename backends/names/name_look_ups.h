// Looks host names up, so that no name delays another one, and no caller waits longer than it wants to.
//
// The system's look-up blocks, has no time limit and cannot be ended. So each one has a thread of its own, which may
// outlive the caller, its loop and main(). A name that is being looked up is not looked up twice: who asks gets the
// same answer. look_up_queue.h bounds the threads. Names that hang delay the others by little more than a second. The
// last addresses of each name stay known, for a caller that asks while the name server fails. Thread-safe. Cost: a
// thread per look-up, about 50 microseconds.
#ifndef PENSTOCK_BACKENDS_NAMES_NAME_LOOK_UPS_H_
#define PENSTOCK_BACKENDS_NAMES_NAME_LOOK_UPS_H_

#include <boost/asio/ip/address.hpp>
#include <boost/system/error_code.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace penstock {

struct NameAnswer {
  boost::system::error_code error;
  std::vector<boost::asio::ip::address> addresses;  // In the order of the system. Not empty without an error.
};

class NameLookUps {
 public:
  // Blocks, on a thread of the look-up.
  using Source = std::function<NameAnswer(const std::string& name)>;
  using Done = std::function<void(const NameAnswer& answer)>;

  // The process shares one object, which asks the system. It is never destroyed.
  static NameLookUps& OfProcess();
  explicit NameLookUps(Source source);

  // Calls `done` once, on another thread or within this call, however late. It must own what it uses.
  void LookUp(const std::string& name, Done done);
  // The addresses of the last look-up that found some; empty: none did. Costs a lock and a copy.
  std::vector<boost::asio::ip::address> LastOf(const std::string& name) const;

 private:
  struct State;
  std::shared_ptr<State> state_;  // The threads share it.
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_NAMES_NAME_LOOK_UPS_H_
