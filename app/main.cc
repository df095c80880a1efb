// The command line: parses and hands over. Exit codes: 0 done, 1 the run or the input is bad, 2 wrong usage.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "app/commands.h"
#include "app/option_parsers.h"
#include "app/process.h"
#include "app/usage.h"
#include "base/harmless.h"
#include "config/text/addresses.h"
#include "config/text/units_text.h"

namespace penstock {
namespace {

constexpr int kDone = 0;
constexpr int kBad = 1;
constexpr int kUsage = 2;

// Runs after parsing. A usage error that CLI11 cannot detect is a CLI::ValidationError.
using Action = std::function<int()>;

void AddServe(CLI::App& app, Action& action) {
  auto options = std::make_shared<ServeOptions>();
  CLI::App* command = app.add_subcommand("serve", "Route requests to the replicas of a configuration, or to URLs.");
  command->footer("Example: penstock serve --listen 127.0.0.1:8080 --replica http://127.0.0.1:8000");
  CLI::Option* config =
      command->add_option("--config,file", options->config_file, "Configuration file; the flag may be left out")
          ->type_name("FILE");
  command->add_option("--listen", options->listen, "Address to serve on (default 127.0.0.1:8080, or the file's)")
      ->check(Valid(&ParseListen, "HOST:PORT or unix:/PATH"));
  command->add_option("--replica", options->replicas, "An engine; may be repeated")
      ->check(Valid(&ParseEngineUrl, "URL"))
      ->excludes(config)
      ->allow_extra_args(false);
  command->callback([&action, options] {
    if (options->config_file.empty() && options->replicas.empty()) Reject("", "needs --config or --replica");
    action = [options] { return RunServe(*options); };
  });
}

void AddCheck(CLI::App& app, Action& action) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* command = app.add_subcommand("check", "Check a configuration and print what is in effect.");
  command->footer("Example: penstock check config/examples/smallest.yaml");
  command->add_option("--config,file", options->config_file, "Configuration file; the flag may be left out")
      ->type_name("FILE");
  command->add_flag("--live", options->live, "Also ask every engine: is it reachable, known, and has it the models?");
  command->callback([&action, options] {
    if (options->config_file.empty()) Reject("", "needs FILE or --config FILE");
    action = [options] { return RunCheck(*options); };
  });
}

void AddReference(CLI::App& app, Action& action) {
  auto topic = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("reference", "Print every key of the configuration, every metric, or every error.");
  command->footer("Example: penstock reference schema > penstock.schema.json");
  command->add_option("topic", *topic, "Document")->check(OneOf(ReferenceTopics()))->required();
  command->callback([&action, topic] { action = [topic] { return RunReference(*topic); }; });
}

void AddDemo(CLI::App& app, Action& action) {
  auto options = std::make_shared<DemoOptions>();
  CLI::App* command = app.add_subcommand("demo", "Run the router over two simulated GPUs with live traffic.");
  command->footer("Example: penstock demo --duration 30s");
  command->add_option("--listen", options->listen, "Address to serve on")
      ->check(Valid(&ParseHostPort, "HOST:PORT"))
      ->capture_default_str();
  AddParsed(command, "--duration", &ParseSpan, &options->duration, "Stop after this time (default: at Ctrl-C)", "TIME");
  command->add_option("--beside", options->beside, "Policy of a second fleet with the same traffic, or none")
      ->capture_default_str();
  command->callback([&action, options] { action = [options] { return RunDemo(*options); }; });
}

void CheckEngineOptions(const EngineOptions& options, const CLI::App& command) {
  if (options.list_models) return;
  if (!options.config_file.empty()) {
    for (const CLI::Option* option : command.get_options()) {
      const bool own = option->get_name() == "--config" || option->get_name() == "--help";
      if (!own && option->count() > 0) Reject("--config", "excludes " + option->get_name());
    }
    return;
  }
  const std::pair<const char*, const std::string*> needed[] = {
      {"--listen", &options.listen}, {"--model", &options.model}, {"--gpu", &options.gpu}};
  for (const auto& [name, value] : needed) {
    if (value->empty()) Reject("", std::string("needs ") + name + ", or --config for a fleet");
  }
}

void AddEngine(CLI::App& app, Action& action) {
  auto options = std::make_shared<EngineOptions>();
  auto overflow = std::make_shared<std::string>("preempt");
  CLI::App* command = app.add_subcommand("engine", "Run one simulated engine, or every one of a fleet that has a url.");
  command->footer(
      "Example: penstock engine --listen 127.0.0.1:9001 --model llama-3.1-8b --gpu a100-80 --kv-memory 18GB");
  command->add_option("--config", options->config_file, "Fleet: a configuration file")->type_name("FILE");
  command->add_option("--listen", options->listen, "Address to serve on")->check(Valid(&ParseHostPort, "HOST:PORT"));
  command->add_option("--model", options->model, "Name of a built-in model shape")->type_name("NAME");
  command->add_option("--gpu", options->gpu, "Kind: a10 l4 l40s a100-40 a100-80 h100 h200 b200 mi300x")
      ->type_name("KIND");
  CLI::Option* tokens = AddParsed(command, "--kv-tokens", &ParseTokens, &options->kv_tokens, "KV cache", "N");
  AddParsed(command, "--kv-memory", &ParseSize, &options->kv_memory, "KV cache (as 18GB)", "SIZE")->excludes(tokens);
  command->add_option("--max-seqs", options->max_seqs, "Sequences in a batch")
      ->check(CLI::Range(1, 65'536))
      ->capture_default_str();
  AddParsed(command, "--max-model-len", &ParseTokens, &options->max_model_len, "Context, prompt and output", "N");
  AddParsed(command, "--max-batched-tokens", &ParseTokens, &options->max_batched_tokens, "Tokens of a step", "N");
  command->add_option("--overflow", *overflow, "When the cache is full: preempt one, or error for all")
      ->check(OneOf({"preempt", "error"}))
      ->capture_default_str();
  command->add_option("--time-scale", options->time_scale, "10 is ten times faster")
      ->check(Between(0.001, 10'000.0))
      ->capture_default_str();
  command->add_flag("--list-models", options->list_models, "Print the built-in model shapes and GPU kinds");
  command->add_flag("--natural", options->natural, "Answers end by themselves; the model calls tools by choice");
  command->add_option("--seed", options->seed, "Of texts and drawn lengths")->check(NoSeed)->capture_default_str();
  command->callback([&action, options, overflow, command] {
    CheckEngineOptions(*options, *command);
    options->overflow_error = *overflow == "error";
    action = [options] { return RunEngine(*options); };
  });
}

void AddLoadGoals(CLI::App* command, LoadOptionsCli& options) {
  AddParsed(command, "--ttft", &ParseSpan, &options.ttft, "Goal of the first token (default 2s)", "TIME");
  AddParsed(command, "--tpot", &ParseSpan, &options.tpot, "Goal of each further token (default 100ms)", "TIME");
  AddParsed(command, "--drain", &ParseSpan, &options.drain, "Wait for answers after the last arrival (default 30s)",
            "TIME");
  command->add_option("--seed", options.seed, "Of prompts")->check(NoSeed)->capture_default_str();
  command->add_flag("--json", options.json, "Print one JSON object");
}

void AddLoadHeaders(CLI::App* command, LoadOptionsCli& options) {
  command->add_option("--key", options.key, "API key of every request (default: the trace's tenant)")
      ->type_name("KEY")
      ->envname("PENSTOCK_KEY");
  command->add_option("--header", options.headers, "Header of every request; may be repeated")
      ->type_name("NAME:VALUE")
      ->allow_extra_args(false);
}

void AddLoad(CLI::App& app, Action& action) {
  auto options = std::make_shared<LoadOptionsCli>();
  auto pairs = std::make_shared<std::vector<std::string>>();
  CLI::App* command = app.add_subcommand("load", "Replay a trace against OpenAI endpoints and measure at the client.");
  command->footer(
      "Example: penstock load --url http://127.0.0.1:8080 --trace trace.csv --model llama-3.1-8b --duration 60s");
  CLI::Option* url =
      command->add_option("--url", options->url, "The endpoint, by http:// only")->check(Valid(&ParseEngineUrl, "URL"));
  command->add_option("--direct", options->direct, "Engines by http:// only, round robin")
      ->delimiter(',')
      ->check(Valid(&ParseEngineUrl, "URL,URL"))
      ->excludes(url);
  command->add_option("--trace", options->trace, "Trace file, or generate:NAME")->type_name("FILE")->required();
  command->add_option("--rate", options->rate, "Compresses the arrivals")
      ->check(Between(1e-6, 1e6))
      ->capture_default_str();
  AddParsed(command, "--duration", &ParseSpan, &options->duration, "Cut the arrivals after this time", "TIME");
  CLI::Option* model = command->add_option("--model", options->model, "Model of every request")->type_name("NAME");
  command->add_option("--map", *pairs, "Models of the trace to models asked for")
      ->delimiter(',')
      ->type_name("A=B,..")
      ->excludes(model);
  AddLoadHeaders(command, *options);
  AddLoadGoals(command, *options);
  command->callback([&action, options, pairs] {
    if (options->url.empty() && options->direct.empty()) Reject("", "needs --url or --direct");
    TakeMap(*pairs, options->map);
    action = [options] { return RunLoad(*options); };
  });
}

// The searches that `simulate` makes instead of one run.
void AddSearches(CLI::App* command, SimulateOptions& options) {
  CLI::Option* carried = command->add_flag("--carried", options.carried, "Find the highest rate that is carried");
  CLI::Option* plan = command->add_flag("--plan", options.plan, "Find the fewest GPUs")->excludes(carried);
  command->add_option("--gpu", options.gpu, "Kinds of the plan's GPUs, compared by price")
      ->type_name("KIND[,KIND]")
      ->needs(plan);
  command->add_option("--on-time", options.on_time, "Share of feasible requests that must be on time")
      ->check(Between(0.01, 1.0))
      ->capture_default_str();
  CLI::Option* seeds = command->add_option("--seeds", options.seeds, "Searches (default 1), for median and interval");
  AddParsed(command, "--shift", &ParseSpan, &options.shift, "Time between their windows", "TIME")
      ->needs(seeds->check(CLI::Range(1, 99)));
}

void AddSimulate(CLI::App& app, Action& action) {
  auto options = std::make_shared<SimulateOptions>();
  CLI::App* command = app.add_subcommand("simulate", "Try a fleet and a policy on a trace, in virtual time.");
  command->footer("Example: penstock simulate --config config/examples/colocated-a100.yaml --trace generate:chat");
  command->add_option("--config", options->config_file, "Fleet: a configuration file")->type_name("FILE")->required();
  command->add_option("--trace", options->trace, "Trace file, or generate:NAME")->type_name("FILE")->required();
  command->add_option("--policy", options->policy, "Policy, with settings as NAME:KEY=VALUE (default: the file's)")
      ->type_name("NAME");
  command->add_option("--shadow", options->shadow, "Policy in the shadow of the first, and a run of its own to compare")
      ->type_name("NAME");
  command->add_option("--rate", options->rate, "Compresses the arrivals; where a search starts")
      ->check(Between(1e-6, 1e6))
      ->capture_default_str();
  AddParsed(command, "--duration", &ParseSpan, &options->duration, "Cut the arrivals after this time", "TIME");
  AddParsed(command, "--from", &ParseDuration, &options->from, "Start of the window in the trace's own time", "TIME");
  command->add_option("--seed", options->seed, "Of estimates and policies")->check(NoSeed)->capture_default_str();
  command->add_flag("--json", options->json, "Print one JSON object");
  CLI::Option* log = command->add_option("--log", options->log_file, "Write every event and action")->type_name("FILE");
  command->add_option("--html", options->html_file, "Write a page with plots of the run")
      ->type_name("FILE")
      ->excludes(log);
  command->add_flag("--retry", options->retry, "Refused clients come back once, after their Retry-After");
  command->add_option("--prompt-bias", options->prompt_bias, "Spread of tenants' errors")->check(Between(0.0, 0.5));
  command->add_flag("--one-pool", options->one_pool, "Policies take the ranks of an engine for one pool");
  AddSearches(command, *options);
  command->callback([&action, options] {
    if (options->seeds > 1 && !options->plan && !options->carried) Reject("--seeds", "is for --carried and --plan");
    if (options->plan && options->gpu.empty()) Reject("--plan", "needs --gpu KIND");
    if (!options->log_file.empty() && (options->plan || options->carried)) Reject("--log", "logs single runs only");
    if (!options->html_file.empty() && (options->plan || options->carried)) Reject("--html", "shows single runs only");
    if (options->retry && (options->plan || options->carried)) Reject("--retry", "is for single runs only");
    if (options->one_pool && (options->plan || options->carried)) Reject("--one-pool", "is for single runs only");
    if (!options->shadow.empty() && (options->plan || options->carried)) Reject("--shadow", "is for single runs only");
    action = [options] { return RunSimulate(*options); };
  });
}

void AddPolicies(CLI::App& app, Action& action) {
  auto options = std::make_shared<PoliciesOptions>();
  CLI::App* command = app.add_subcommand("policies", "List the policies that `policy:` and --policy can name.");
  CLI::Option* json = command->add_flag("--json", options->json, "Print every declaration as JSON");
  command->add_flag("--markdown", options->markdown, "Print docs/policies.md")->excludes(json);
  command->callback([&action, options] { action = [options] { return RunPolicies(*options); }; });
}

void AddTop(CLI::App& app, Action& action) {
  auto options = std::make_shared<TopOptions>();
  CLI::App* command = app.add_subcommand("top", "Show the page of a running router in the terminal.");
  command->footer(
      "Example: penstock top http://127.0.0.1:8080\nPENSTOCK_ADMIN_KEY holds the admin key, if one is needed.");
  command->add_option("url", options->url, "The router, or its admin listener")
      ->check(Valid(&ParseEngineUrl, "URL"))
      ->capture_default_str();
  command->add_option("--ca", options->ca, "Authorities to trust over https (default: the system's)")
      ->check(CLI::ExistingFile);
  AddParsed(command, "--interval", &ParseSpan, &options->interval, "Time between two readings (default 1s)", "TIME");
  command->add_option("--lines", options->count, "Print so many plain lines, then end")
      ->check(CLI::Range(1, 1'000'000));
  command->callback([&action, options] { action = [options] { return RunTop(*options); }; });
}

void AddVersion(CLI::App& app, Action& action) {
  app.set_version_flag("-v,--version", std::string("penstock ") + PENSTOCK_VERSION, "Print the version");
  app.add_subcommand("version", "Print the version.")->callback([&action] { action = [] { return RunVersion(); }; });
}

int Main(int argc, char** argv) {
  CLI::App app("Penstock: an admission router for LLM inference.", "penstock");
  app.footer("Each command has --help.");
  app.require_subcommand(0, 1);
  app.failure_message([](const CLI::App* root, const CLI::Error& error) { return UsageError(*root, error); });
  Action action;
  for (const auto add : {AddServe, AddCheck, AddReference, AddDemo, AddEngine, AddLoad, AddSimulate, AddTop,
                         AddPolicies, AddVersion, AddHelp}) {
    add(app, action);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return EndParsing(app, error) == kDone ? kDone : kUsage;
  }
  if (!action) {
    std::fputs(app.help().c_str(), stderr);
    return kUsage;
  }
  try {
    return action();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "penstock: %s\n", Harmless(MessageOf(error), "\n").c_str());
    return kBad;
  }
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "serve") penstock::BlockServeSignals();
  penstock::PrepareProcess();
  return penstock::Main(argc, argv);
}
