#include "backends/names/name_look_ups.h"

#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "backends/names/look_up_queue.h"
#include "base/clock.h"

namespace penstock {
namespace asio = boost::asio;

namespace {

NameAnswer AskSystem(const std::string& name) {
  NameAnswer answer;
  asio::io_context loop;
  asio::ip::tcp::resolver resolver(loop);
  for (const auto& entry : resolver.resolve(name, "", answer.error)) {
    answer.addresses.push_back(entry.endpoint().address());
  }
  if (!answer.error && answer.addresses.empty()) answer.error = asio::error::host_not_found;
  return answer;
}

}  // namespace

struct NameLookUps::State : std::enable_shared_from_this<NameLookUps::State> {
  explicit State(Source from) : source(std::move(from)) {}

  std::vector<std::string> Ask(const std::string& name, Done done) {
    const std::lock_guard lock(mutex);
    const auto [at, fresh] = waiting.try_emplace(name);
    at->second.push_back(std::move(done));
    if (fresh) queue.Add(name);
    return queue.Begin(Now());
  }

  void Start(std::vector<std::string> names) {
    while (!names.empty()) {
      const std::string name = std::move(names.back());
      names.pop_back();
      try {
        std::thread([self = shared_from_this(), name] { self->Run(name); }).detach();
      } catch (const std::system_error& none) {
        for (std::string& next : Finish(name, NameAnswer{none.code(), {}})) names.push_back(std::move(next));
      }
    }
    WatchHung();
  }

  // Begins the look-ups of names that wait until others count as hung. No other event would.
  void WatchHung() {
    {
      const std::lock_guard lock(mutex);
      if (watches || !queue.WaitsForHung()) return;
      watches = true;
    }
    try {
      std::thread([self = shared_from_this()] { self->AwaitHung(); }).detach();
    } catch (const std::system_error&) {
      const std::lock_guard lock(mutex);
      watches = false;
    }
  }

  void AwaitHung() {
    bool more = true;
    while (more) {
      std::this_thread::sleep_for(ToChrono(kLook));
      std::vector<std::string> next;
      {
        const std::lock_guard lock(mutex);
        next = queue.Begin(Now());
        more = watches = queue.WaitsForHung();
      }
      Start(std::move(next));
    }
  }

  void Run(const std::string& name) {
    const NameAnswer answer = source(name);
    Start(Finish(name, answer));
  }

  // The names whose turn it is then.
  std::vector<std::string> Finish(const std::string& name, const NameAnswer& answer) {
    std::vector<Done> all;
    std::vector<std::string> next;
    {
      const std::lock_guard lock(mutex);
      all = std::move(waiting.extract(name).mapped());
      if (!answer.addresses.empty()) last[name] = answer.addresses;
      queue.End(name, Now());
      next = queue.Begin(Now());
    }
    for (const Done& done : all) done(answer);
    return next;
  }

  static constexpr Duration kLook = Duration::Milliseconds(250);

  const Source source;
  std::mutex mutex;
  bool watches = false;                                         // Guarded: a thread waits for look-ups to hang.
  LookUpQueue queue;                                            // Guarded.
  absl::flat_hash_map<std::string, std::vector<Done>> waiting;  // Guarded: by the name that waits or runs.
  absl::flat_hash_map<std::string, std::vector<asio::ip::address>> last;  // Guarded: by every name that was found.
};

NameLookUps& NameLookUps::OfProcess() {
  // A thread may use it after the statics are gone.
  static NameLookUps* const all = new NameLookUps(AskSystem);
  return *all;
}

NameLookUps::NameLookUps(Source source) : state_(std::make_shared<State>(std::move(source))) {}

void NameLookUps::LookUp(const std::string& name, Done done) { state_->Start(state_->Ask(name, std::move(done))); }

std::vector<asio::ip::address> NameLookUps::LastOf(const std::string& name) const {
  const std::lock_guard lock(state_->mutex);
  const auto at = state_->last.find(name);
  return at == state_->last.end() ? std::vector<asio::ip::address>{} : at->second;
}

}  // namespace penstock
