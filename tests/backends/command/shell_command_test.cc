// The commands of the operator as processes.
#include "backends/command/shell_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace penstock {
namespace {

namespace asio = boost::asio;
using ::testing::HasSubstr;
using ::testing::Not;

// True: there is no such process, or it is a zombie that its new parent has yet to reap.
bool Gone(pid_t process) {
  std::ifstream stat("/proc/" + std::to_string(process) + "/stat");
  std::string pid, name, state;
  return !(stat >> pid >> name >> state) || state == "Z";
}

class ShellCommands : public ::testing::Test {
 protected:
  std::unique_ptr<ShellCommand> Start(const std::string& text, const std::vector<std::string>& additions = {}) {
    auto started = ShellCommand::Start(loop_, text, additions, [this] { ++ends_; });
    EXPECT_TRUE(started.ok()) << started.status();
    return *std::move(started);
  }
  // Runs the loop until `done`; false after a minute.
  template <class Done>
  bool Until(Done done) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!done() && std::chrono::steady_clock::now() < limit) {
      loop_.restart();  // It stops when it has no work.
      loop_.run_one_for(std::chrono::milliseconds(50));
    }
    return done();
  }
  CommandEnd EndOf(const ShellCommand& command) {
    EXPECT_TRUE(Until([&] { return command.end().has_value(); }));
    return command.end().value_or(CommandEnd{-1, 0});
  }

  asio::io_context loop_;
  int ends_ = 0;
};

TEST_F(ShellCommands, TheEndAndTheOutputAreSeen) {
  const auto good = Start("echo one; echo two >&2");
  EXPECT_TRUE(EndOf(*good).ok());
  EXPECT_EQ(good->Output(), "one two");
  EXPECT_EQ(ends_, 1);
  const auto bad = Start("echo broken; exit 3");
  EXPECT_EQ(EndOf(*bad).Text(), "status 3");
  const auto killed = Start("kill -9 $$");
  EXPECT_EQ(EndOf(*killed).Text(), "signal 9");
}

TEST_F(ShellCommands, ACommandThatIsNotThereEndsWithTheStatusOfTheShell) {
  const auto command = Start("/nowhere/at-all");
  EXPECT_EQ(EndOf(*command).Text(), "status 127");
  EXPECT_THAT(command->Output(), HasSubstr("not found"));
}

TEST_F(ShellCommands, OnlyTheEndOfALongOutputIsKept) {
  const auto command = Start("i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done");
  EXPECT_TRUE(EndOf(*command).ok());
  EXPECT_TRUE(Until([&] { return command->Output().find("line 19999") != std::string::npos; }));
  EXPECT_LE(command->Output().size(), ShellCommand::kKeptOutput);
}

TEST_F(ShellCommands, VariablesAreAddedAndReplaced) {
  ASSERT_EQ(setenv("PENSTOCK_TEST_OLD", "old", 1), 0);
  ASSERT_EQ(setenv("PENSTOCK_TEST_KEPT", "kept", 1), 0);
  const auto command = Start("echo \"$PENSTOCK_TEST_OLD $PENSTOCK_TEST_KEPT $NEW\"",
                             {"PENSTOCK_TEST_OLD=replaced", "NEW=a b; echo injected"});
  EXPECT_TRUE(EndOf(*command).ok());
  EXPECT_EQ(command->Output(), "replaced kept a b; echo injected") << "a value is never run";
}

TEST_F(ShellCommands, NoDescriptorOfTheRouterAndNoInputReachesIt) {
  std::ifstream open_file("/dev/null");
  const int inheritable = dup(STDIN_FILENO);
  const auto command = Start("cat; ls /proc/self/fd");
  EXPECT_TRUE(EndOf(*command).ok());
  close(inheritable);
  // The fourth is that of ls itself.
  EXPECT_EQ(command->Output(), "0 1 2 3");
}

TEST_F(ShellCommands, BlockedSignalsOfTheRouterReachIt) {
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &blocked, &before), 0);
  const auto command = Start("kill -TERM $$; exit 5");
  const CommandEnd end = EndOf(*command);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(end.Text(), "signal 15");
}

TEST_F(ShellCommands, KillEndsTheWholeGroup) {
  const auto command = Start("sleep 1000 & echo child $!; wait");
  ASSERT_TRUE(Until([&] { return command->Output().find("child ") == 0; }));
  const pid_t child = std::stoi(command->Output().substr(6));
  command->Kill();
  EXPECT_EQ(EndOf(*command).Text(), "signal 15");
  EXPECT_TRUE(Until([child] { return Gone(child); }));
}

TEST_F(ShellCommands, AChildThatIgnoresTheRequestIsKilledAfterItsShellHasGone) {
  const auto command = Start("sh -c 'trap \"\" TERM; echo child $$; while :; do sleep 1000; done' & wait");
  ASSERT_TRUE(Until([&] { return command->Output().find("child ") == 0; }));
  const pid_t child = std::stoi(command->Output().substr(6));
  command->Kill();
  EXPECT_EQ(EndOf(*command).Text(), "signal 15");
  EXPECT_FALSE(Gone(child)) << "it has two seconds";
  EXPECT_TRUE(Until([child] { return Gone(child); }));
}

TEST_F(ShellCommands, AGroupThatIgnoresTheRequestIsKilled) {
  const auto command = Start("trap '' TERM; echo ready; while :; do sleep 1000; done");
  ASSERT_TRUE(Until([&] { return command->Output() == "ready"; }));
  command->Kill();
  EXPECT_EQ(EndOf(*command).Text(), "signal 9");
}

TEST_F(ShellCommands, TheEndDoesNotWaitForWhatRunsInTheBackground) {
  const auto command = Start("sleep 1000 & echo child $!");
  EXPECT_TRUE(EndOf(*command).ok());
  ASSERT_TRUE(Until([&] { return command->Output().find("child ") == 0; }));
  const pid_t child = std::stoi(command->Output().substr(6));
  command->Kill();
  EXPECT_EQ(kill(child, 0), 0) << "a process in the background lives on";
  kill(child, SIGKILL);
}

size_t OpenDescriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

TEST_F(ShellCommands, WhatAProcessInTheBackgroundWritesTakesFewTurnsAndOneDescriptor) {
  EndOf(*Start("true"));
  ASSERT_TRUE(Until([this] { return loop_.stopped(); }));
  const size_t before = OpenDescriptors();
  const std::string file = ::testing::TempDir() + "penstock_background_process";
  const auto command = Start("yes & echo $! > " + file);
  EXPECT_TRUE(EndOf(*command).ok());
  EXPECT_EQ(OpenDescriptors(), before + 1) << "its output";
  loop_.restart();
  // Without a pause, they would be thousands.
  EXPECT_LT(loop_.run_for(std::chrono::seconds(1)), 200U);
  pid_t child = 0;
  std::ifstream(file) >> child;
  ASSERT_GT(child, 0);
  kill(child, SIGKILL);
}

TEST_F(ShellCommands, ACommandThatWritesWithoutEndTakesFewTurns) {
  const auto command = Start("exec yes");
  ASSERT_TRUE(Until([&] { return !command->Output().empty(); }));
  loop_.restart();
  // Without a pause, they would be thousands.
  EXPECT_LT(loop_.run_for(std::chrono::seconds(1)), 200U);
  EXPECT_FALSE(command->end().has_value());
  command->Kill();
  EXPECT_EQ(EndOf(*command).Text(), "signal 15");
}

TEST_F(ShellCommands, ADestroyedCommandTellsNobody) {
  auto command = Start("true");
  command.reset();
  loop_.run();  // Until the process ended and its output was read.
  EXPECT_EQ(ends_, 0);
}

}  // namespace
}  // namespace penstock
