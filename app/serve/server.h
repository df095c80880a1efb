// The whole router in one object: `serve`, `demo` and the tests start it in-process.
//
//   auto server = RouterServer::Create(config, {});
//   if (absl::Status started = (*server)->Start(); !started.ok()) ...
//   use((*server)->url());
//   (*server)->BeginDrain(); ... (*server)->Stop();
//
// Replicas that are simulated and have no url run inside, on ports of their own. All functions are called by one
// thread, the one that made it; View, Metrics and Awaited by any.
#ifndef PENSTOCK_APP_SERVE_SERVER_H_
#define PENSTOCK_APP_SERVE_SERVER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/units.h"
#include "config/config.h"
#include "router/core/contract/admission_core.h"
#include "router/live/core_host.h"
#include "router/page/comparison.h"
#include "router/telemetry/log/decision_log.h"

namespace penstock {

class RouterServer {
 public:
  // The time for clients to read the error that ends a cut request.
  static constexpr Duration kLastWords = Duration::Seconds(1);

  struct Options {
    std::unique_ptr<AdmissionCore> core;  // Null: the one that config.policy names.
    CoreHost::Recorder record;            // Called for every event, inside the core; may be null.
    Comparison comparison;                // Shown on the page; may be null.
    std::string version = "0";
    uint64_t seed = 1;
  };

  // InvalidArgument: unknown policy, unusable log file or simulated replica.
  static absl::StatusOr<std::unique_ptr<RouterServer>> Create(const Config& config, Options options);
  ~RouterServer();
  RouterServer(const RouterServer&) = delete;
  RouterServer& operator=(const RouterServer&) = delete;

  // Binds, then runs. The port is open when it returns, whether or not an engine answers yet.
  absl::Status Start();
  std::string address() const;        // host:port as bound, or unix:/path.
  std::string admin_address() const;  // Empty without an admin listener.
  std::string url() const;
  uint16_t port() const;

  // Takes a new configuration: replicas, models, classes, tenants, limits of new connections. Opens the log anew. The
  // keys of KeysThatNeedRestart stay, and the log names those that changed. Running requests are not disturbed.
  // InvalidArgument: nothing changed. Between Start and Stop, not on a loop: it returns once the core and every loop
  // have the new fleet.
  absl::Status Reload(const Config& config);

  // Counts and logs a reload that was given up because its file is bad. The log opens its file anew all the same.
  void NoteBadReload(absl::string_view why);

  // The log of the router.
  DecisionLog& log();

  // Stops accepting, but for the admin listener; /readyz says 503; new requests are refused, waiting ones are served,
  // streams finish.
  void BeginDrain();
  // Requests still being answered.
  int active_requests() const;
  // BeginDrain, then waits for them. False when some were still running at the end of `timeout`.
  bool Drain(Duration timeout);
  // Ends everything. Requests that still run are cut: their clients get an error within kLastWords. One whose engine
  // has finished only ends. May be called twice.
  void Stop();
  // The part that a Stop waits for, for the log. By any thread, during Stop only.
  std::string Awaited() const;
  // The requests that Stop cut.
  int cut_requests() const;

  CoreView View() const;
  std::string Metrics() const;
  int replicas_up() const;

 private:
  struct Parts;
  static absl::Status OpenReports(Parts& parts, const std::string& version);
  static absl::Status OpenStore(Parts& parts);
  static absl::Status BindListeners(Parts& parts);
  explicit RouterServer(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace penstock

#endif  // PENSTOCK_APP_SERVE_SERVER_H_
