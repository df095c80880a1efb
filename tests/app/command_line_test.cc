// Drives the real binary: exit codes and where its output goes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

struct Outcome {
  int code = -1;
  std::string out;
  std::string err;
};

std::string Slurp(const std::filesystem::path& path) {
  std::ifstream file(path);
  return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
}

class CommandLine : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("penstock-command-line-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Outcome Run(const std::string& arguments) {
    const std::string out = (folder_ / "out").string();
    const std::string err = (folder_ / "err").string();
    const std::string line = std::string(PENSTOCK_BINARY) + " " + arguments + " >" + out + " 2>" + err + " </dev/null";
    const int status = std::system(line.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, Slurp(out), Slurp(err)};
  }
  std::string File(const std::string& yaml) {
    const std::filesystem::path path = folder_ / "fleet.yaml";
    std::ofstream(path) << yaml;
    return path.string();
  }

  std::filesystem::path folder_;
};

TEST_F(CommandLine, VersionPrintsNameAndVersion) {
  const Outcome outcome = Run("version");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, "penstock 0.1.0\n");
}

TEST_F(CommandLine, TheVersionIsAFlagToo) {
  for (const char* flag : {"--version", "-v"}) {
    const Outcome outcome = Run(flag);
    EXPECT_EQ(outcome.code, 0);
    EXPECT_EQ(outcome.out, "penstock 0.1.0\n");
  }
}

TEST_F(CommandLine, HelpIsACommandThatPrintsWhatTheFlagPrints) {
  EXPECT_EQ(Run("help").out, Run("--help").out);
  EXPECT_EQ(Run("help").code, 0);
  for (const char* command : {"serve", "simulate", "help"}) {
    const Outcome outcome = Run(std::string("help ") + command);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, Run(std::string(command) + " --help").out);
  }
}

TEST_F(CommandLine, AFileNeedsNoFlag) {
  const std::string path = File("replicas: [{url: http://127.0.0.1:8000}]\n");
  const Outcome outcome = Run("check " + path);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, path + ": ok\n");
  EXPECT_EQ(outcome.out, Run("check --config " + path).out);
  const Outcome serve = Run("serve " + File("listen: 8080\n"));
  EXPECT_EQ(serve.code, 1);
  EXPECT_THAT(serve.err, HasSubstr("is a port without an address"));
}

TEST_F(CommandLine, TheBuiltInModelsAndGpusAreListed) {
  const Outcome outcome = Run("engine --list-models");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("\nllama-3.1-8b "), HasSubstr("\na100-80 ")));
}

TEST_F(CommandLine, AnUnknownShapeKindOrPolicyOffersTheNearest) {
  EXPECT_THAT(Run("engine --listen 127.0.0.1:0 --model llama-3.1-8c --gpu h100").err,
              HasSubstr("no built-in shape is called llama-3.1-8c (did you mean \"llama-3.1-8b\"?)"));
  EXPECT_THAT(Run("engine --listen 127.0.0.1:0 --model llama-3.1-8b --gpu h10").err, HasSubstr("\"h100\""));
  const std::string path = File("replicas: [{url: http://127.0.0.1:8000}]\n");
  EXPECT_THAT(Run("simulate --config " + path + " --trace generate:azure-conv --policy penstok:a=1").err,
              HasSubstr("unknown policy \"penstok\" (did you mean \"penstock\"?)"));
}

TEST_F(CommandLine, CheckPrintsTheEffectiveConfigurationThatChecksAgain) {
  const Outcome outcome = Run("check --config " + File("replicas: [{url: http://127.0.0.1:8000, key: hush}]\n"));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("listen: 127.0.0.1:8080"), HasSubstr("id: 127.0.0.1:8000"), Not(HasSubstr("hush"))));
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("fairness: none"), HasSubstr("queue: 10m"), HasSubstr("promote_after: 5m")));
  EXPECT_THAT(outcome.err, EndsWith("fleet.yaml: ok\n"));
  const Outcome again = Run("check --config " + File(outcome.out));
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(again.out, outcome.out);
  EXPECT_THAT(again.err, HasSubstr("warning"));
}

TEST_F(CommandLine, CheckOfABadFileFailsWithEveryFindingOnStderr) {
  const std::string path = File("lisen: 1\nreplicas: [{url: h}]\n");
  const Outcome outcome = Run("check --config " + path);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr(path + ":1:1: lisen: unknown key"), HasSubstr(path + ":2:18: replicas[0].url:")));
  EXPECT_EQ(Run("check --config /nonexistent.yaml").code, 1);
}

TEST_F(CommandLine, WrongUsageIsTwoAndSaysWhatIsWrong) {
  const struct {
    const char* arguments;
    const char* says;
  } cases[] = {
      {"", "Subcommands:"},
      {"frobnicate", "penstock: unknown command \"frobnicate\""},
      {"chekc", "unknown command \"chekc\" (did you mean \"check\"?)"},
      {"nosuch --help", "penstock: unknown command \"nosuch\""},
      {"help chekc", "unknown command \"chekc\" (did you mean \"check\"?)"},
      {"serve --confg a", "penstock serve: unknown option --confg (did you mean \"--config\"?)"},
      {"simulate --trce=t", "unknown option --trce (did you mean \"--trace\"?)"},
      {"reference metrcs", "unknown name \"metrcs\" (did you mean \"metrics\"?)"},
      {"check a b", "unexpected argument \"b\""},
      {"check", "penstock check: needs FILE or --config FILE"},
      {"version extra", "extra"},
      {"serve", "penstock serve: needs --config or --replica"},
      {"serve --config a --replica http://h:1", "excludes"},
      {"serve --replica h:1", "http://host:port"},
      {"serve --replica http://h:1 --listen 8080", "8080"},
      {"demo --duration x", "--duration"},
      {"demo --duration 10", "needs a unit"},
      {"demo --duration 0s", "above zero"},
      {"engine --listen 127.0.0.1:0 --model m", "needs --gpu"},
      {"engine --listen 127.0.0.1:0 --model m --gpu h100 --kv-memory 18", "needs a unit"},
      {"engine --listen 127.0.0.1:0 --model m --gpu h100 --kv-memory 1GB --kv-tokens 3", "excludes"},
      {"engine --listen 127.0.0.1:0 --model m --gpu h100 --overflow maybe", "--overflow"},
      {"engine --config f --seed 3", "excludes"},
      {"engine --listen 127.0.0.1:0 --model m --gpu h100 --seed 18446744073709551616", "is not a whole number"},
      {"simulate --config f --trace t --seed 99999999999999999999999999", "is not a whole number from 0"},
      {"simulate --config f --trace t --seed -1", "is not a whole number"},
      {"load --url http://h:1 --trace t --seed 1.5", "is not a whole number"},
      {"load --trace t", "needs --url or --direct"},
      {"load --url http://h:1", "--trace"},
      {"load --url http://h:1 --trace t --map A", "is not A=B"},
      {"load --url http://h:1 --trace t --ttft 2x", "unknown unit"},
      {"load --url http://h:1 --direct http://h:2 --trace t", "excludes"},
  };
  for (const auto& each : cases) {
    const Outcome outcome = Run(each.arguments);
    EXPECT_EQ(outcome.code, 2) << each.arguments << "\n" << outcome.err;
    EXPECT_THAT(outcome.err + outcome.out, HasSubstr(each.says)) << each.arguments;
  }
}

TEST_F(CommandLine, ANameFromATraceNeitherSteersTheTerminalNorFillsIt) {
  const std::string config = File(
      "gpus: [{id: g, kind: a100-80}]\n"
      "replicas: [{id: a, gpus: [g], model: llama-3.1-8b, kv_memory: 18GB, simulated: {}}]\n");
  const std::filesystem::path trace = folder_ / "evil.csv";
  for (const std::string& name : {std::string("\x1b[31mred"), std::string("a\0b", 3), std::string(100'000, 'x')}) {
    std::ofstream(trace) << "arrival_s,model,tenant,prompt_tokens,output_tokens\n0," << name << ",t,5,5\n";
    const Outcome outcome = Run("simulate --config " + config + " --trace " + trace.string());
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("no replica serves the model"));
    EXPECT_THAT(outcome.err, AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr(std::string(1, '\0')))));
    EXPECT_LT(outcome.err.size(), 9'000);
  }
}

TEST_F(CommandLine, EveryCommandHasHelpWithAnExample) {
  const Outcome all = Run("--help");
  EXPECT_EQ(all.code, 0);
  for (const char* command : {"serve", "check", "demo", "engine", "load", "simulate"}) {
    EXPECT_THAT(all.out, HasSubstr(command));
    const Outcome outcome = Run(std::string(command) + " --help");
    EXPECT_EQ(outcome.code, 0);
    EXPECT_THAT(outcome.out, HasSubstr(std::string("Example: penstock ") + command));
  }
}

}  // namespace
