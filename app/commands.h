// The subcommands. Each takes its options as a struct, parses nothing and returns the exit code. 0: done. 1: the run or
// the input is bad, or requests of a load failed. 3: the router ended with requests cut. main returns 2 for wrong
// usage.
#ifndef PENSTOCK_APP_COMMANDS_H_
#define PENSTOCK_APP_COMMANDS_H_

#include <csignal>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"

namespace penstock {

struct ServeOptions {
  std::string config_file;
  std::string listen;                 // Overrides the file.
  std::vector<std::string> replicas;  // Without a file.
};
// Blocks the signals that RunServe waits for, here and in every thread that starts later, and returns them. main calls
// it first. A signal that comes while the options are read then waits for the router.
sigset_t BlockServeSignals();
int RunServe(const ServeOptions& options);

struct CheckOptions {
  std::string config_file;
  bool live = false;  // Also asks the engines.
};
int RunCheck(const CheckOptions& options);

// The generated documents, by name.
const std::vector<std::string>& ReferenceTopics();
// `topic` is one of ReferenceTopics().
int RunReference(const std::string& topic);

struct DemoOptions {
  std::string listen = "127.0.0.1:8080";
  std::optional<Duration> duration;
  std::string beside = "round_robin";  // The policy of a second fleet with the same traffic; none: there is none.
};
int RunDemo(const DemoOptions& options);

struct EngineOptions {
  std::string config_file;  // A fleet; else the single engine below.
  std::string listen;
  std::string model;
  std::string gpu;
  std::optional<Tokens> kv_tokens;
  std::optional<Bytes> kv_memory;
  int max_seqs = 256;
  std::optional<Tokens> max_model_len;
  std::optional<Tokens> max_batched_tokens;
  bool overflow_error = false;
  double time_scale = 1;
  uint64_t seed = 1;
  bool natural = false;
  bool list_models = false;  // Nothing else then.
};
int RunEngine(const EngineOptions& options);

struct LoadOptionsCli {
  std::string url;
  std::vector<std::string> direct;  // Round robin over engines.
  std::string trace;
  double rate = 1;
  std::optional<Duration> duration;
  std::string model;  // For every request; else `map`.
  std::map<std::string, std::string> map;
  std::string key;                   // Every request has it; empty: the trace's tenant.
  std::vector<std::string> headers;  // NAME:VALUE, for every request.
  Duration ttft = Duration::Seconds(2);
  Duration tpot = Duration::Milliseconds(100);
  Duration drain = Duration::Seconds(30);
  uint64_t seed = 1;
  bool json = false;
};
int RunLoad(const LoadOptionsCli& options);

struct SimulateOptions {
  std::string config_file;
  std::string trace;   // Empty: generate:azure-conv.
  std::string policy;  // Empty: the file's.
  std::string shadow;  // Empty: the file's, where the policy is.
  double rate = 1;
  std::optional<Duration> duration;
  Duration from;
  uint64_t seed = 1;
  bool json = false;
  std::string log_file;   // Empty: none.
  std::string html_file;  // Empty: none.
  bool retry = false;
  double prompt_bias = 0;
  bool one_pool = false;
  bool carried = false;
  bool plan = false;
  std::string gpu;  // Kind, of a plan.
  double on_time = 0.99;
  int seeds = 1;   // The number of searches.
  Duration shift;  // Between the windows of its seeds.
};
int RunSimulate(const SimulateOptions& options);

struct TopOptions {
  std::string url = "http://127.0.0.1:8080";
  std::string key;  // Of an admin; empty: that of the environment, if any.
  std::string ca;   // File of the authorities to trust over https; empty: the system's store.
  Duration interval = Duration::Seconds(1);
  int64_t count = 0;  // Plain lines; 0: a screen on a terminal, else lines without end.
};
int RunTop(const TopOptions& options);

struct PoliciesOptions {
  bool json = false;
  bool markdown = false;  // docs/policies.md.
};
int RunPolicies(const PoliciesOptions& options);

int RunVersion();

}  // namespace penstock

#endif  // PENSTOCK_APP_COMMANDS_H_
