#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>
#include <vector>

#include "router/telemetry/log/decision_log.h"
#include "tests/telemetry/decision_log_file.h"

namespace penstock {
namespace {

using nlohmann::json;
using Kind = DecisionEntry::Kind;

class DecisionLogPipe : public DecisionLogFile {
 protected:
  void SetUp() override {
    DecisionLogFile::SetUp();
    ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  }
};

TEST_F(DecisionLogPipe, WithoutAReaderIsAnError) { EXPECT_FALSE(DecisionLog::Open({.path = path_.string()}).ok()); }

TEST_F(DecisionLogPipe, WhoseReaderStandsStillKeepsNeitherTheWriterNorTheEnd) {
  const int reader = open(path_.c_str(), O_RDONLY | O_NONBLOCK);
  {
    auto log = Open(/*all=*/true, 100'000);
    for (int i = 0; i < 10'000; ++i) log->Write({.kind = Kind::kError, .message = std::string(500, 'x')});
  }
  char first = 0;
  EXPECT_EQ(read(reader, &first, 1), 1);
  EXPECT_EQ(first, '{');
  close(reader);
}

TEST_F(DecisionLogFile, CountsLinesThatCannotBeWritten) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  auto log = DecisionLog::Open({.path = "/dev/full"});
  ASSERT_TRUE(log.ok());
  (*log)->Write({.kind = Kind::kError});
  (*log)->Flush();
  EXPECT_EQ((*log)->dropped(), 1);
}

// The reader takes what came before, so the rest of the first batch and all that follows can be written.
TEST_F(DecisionLogPipe, TellsHowManyLinesAreLostAndKeepsTheOthersWhole) {
  const int reader = open(path_.c_str(), O_RDONLY | O_NONBLOCK);
  auto log = Open(/*all=*/true, 8);
  for (int i = 0; i < 5'000; ++i) log->Write({.kind = Kind::kError, .message = std::string(500, 'x')});
  std::string text;
  std::vector<char> buffer(1 << 16);
  const auto drain = [&] {
    for (ssize_t got = 0; (got = read(reader, buffer.data(), buffer.size())) > 0;) {
      text.append(buffer.data(), static_cast<size_t>(got));
    }
  };
  while (text.find("last") == std::string::npos) {
    log->Write({.kind = Kind::kError, .message = "last"});
    drain();
  }
  log.reset();
  drain();
  close(reader);
  std::istringstream lines(text);
  int64_t lost = 0;
  int64_t errors = 0;
  for (std::string line; std::getline(lines, line);) {
    const json entry = json::parse(line);
    if (entry["event"] == "notice") lost += std::stoll(entry["message"].get<std::string>());
    errors += entry["event"] == "error" ? 1 : 0;
  }
  EXPECT_GT(lost, 0);
  EXPECT_GE(errors + lost, 5'001);
}

// Returns once the pipe takes no more. Its bytes do not tell: short lines leave the end of every page empty.
void AwaitFullPipe(int writer) {
  for (pollfd room{writer, POLLOUT, 0}; poll(&room, 1, 0) == 1;) std::this_thread::yield();
}

std::string Drained(int reader) {
  std::string text;
  std::vector<char> buffer(1 << 16);
  for (ssize_t got = 0; (got = read(reader, buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<size_t>(got));
  }
  return text;
}

TEST_F(DecisionLogPipe, EntriesThatWaitForAReaderHaveNoLongTexts) {
  const int reader = open(path_.c_str(), O_RDONLY | O_NONBLOCK);
  auto log = Open(/*all=*/true, 100'000);
  const size_t before = mallinfo2().uordblks;
  for (int i = 0; i < 2000; ++i) log->Write({.kind = Kind::kRefuse, .path = std::string(1 << 16, 'x')});
  EXPECT_LT(mallinfo2().uordblks, before + (size_t{16} << 20));
  log.reset();
  close(reader);
}

// The reader stands still while the log gets the order to reopen its file, and goes on then.
TEST(DecisionLogStderr, ReopeningLosesNoLine) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  ASSERT_EQ(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
  const int kept = dup(STDERR_FILENO);
  dup2(ends[1], STDERR_FILENO);
  close(ends[1]);
  int64_t dropped = -1;
  {
    auto log = DecisionLog::Open({.max_queued = 10'000, .format = LogFormat::kJson});
    for (int i = 0; i < 1000; ++i) (*log)->Write({.kind = Kind::kError, .message = std::string(500, 'x')});
    AwaitFullPipe(STDERR_FILENO);
    (*log)->Reopen();
    std::string text;
    while (std::count(text.begin(), text.end(), '\n') + (*log)->dropped() < 1000) text += Drained(ends[0]);
    dropped = (*log)->dropped();
  }
  dup2(kept, STDERR_FILENO);
  close(kept);
  close(ends[0]);
  EXPECT_EQ(dropped, 0);
}

// stderr goes to a pipe until the end.
class CaughtStderr {
 public:
  CaughtStderr() {
    EXPECT_EQ(pipe2(ends_, O_CLOEXEC | O_NONBLOCK), 0);
    dup2(ends_[1], STDERR_FILENO);
    close(ends_[1]);
  }
  ~CaughtStderr() {
    dup2(before_, STDERR_FILENO);
    close(before_);
    close(ends_[0]);
  }
  std::string Text() const { return Drained(ends_[0]); }

 private:
  const int before_ = dup(STDERR_FILENO);
  int ends_[2] = {};
};

class DecisionLogFolder : public DecisionLogFile {
 protected:
  void SetUp() override {
    DecisionLogFile::SetUp();
    folder_ = path_.string() + "-folder";
    std::filesystem::create_directories(folder_);
    path_ = folder_ / "log";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_;
};

TEST_F(DecisionLogFolder, AReopeningThatFailsIsToldItsLinesAreCountedAndItIsTriedAgain) {
  auto made = DecisionLog::Open({.path = path_.string(), .keep_recent = 10});
  ASSERT_TRUE(made.ok()) << made.status();
  DecisionLog& log = **made;
  std::string told;
  {
    const CaughtStderr caught;
    std::filesystem::remove_all(folder_);
    log.Reopen();
    log.Flush();
    told = caught.Text();
  }
  EXPECT_THAT(told, ::testing::HasSubstr(path_.string() + ": No such file or directory")) << told;
  ASSERT_EQ(log.Recent().size(), 1u);
  EXPECT_EQ(log.Recent()[0].entry.kind, Kind::kNotice);
  EXPECT_EQ(log.Recent()[0].entry.level, LogLevel::kError);
  EXPECT_THAT(log.Recent()[0].entry.message, ::testing::HasSubstr("No such file or directory"));
  const int64_t dropped = log.dropped();
  for (int i = 0; i < 3; ++i) log.Write({.kind = Kind::kError, .message = "lost"});
  log.Flush();
  EXPECT_EQ(log.dropped(), dropped + 3);

  std::filesystem::create_directories(folder_);
  const auto open_again = [&log] {
    return log.Recent().back().entry.message.find("is open again") != std::string::npos;
  };
  while (!open_again()) std::this_thread::yield();
  log.Write({.kind = Kind::kError, .message = "after"});
  log.Flush();
  const auto lines = Lines(path_);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0]["message"], "4 lines of the log are lost: it could not be written, or not fast enough");
  EXPECT_THAT(lines[1]["message"].get<std::string>(), ::testing::HasSubstr("is open again"));
  EXPECT_EQ(lines[2]["message"], "after");
}

TEST_F(DecisionLogFolder, AReopeningThatFailsLosesNoLineWhereTheOldFileIsThere) {
  auto log = Open(/*all=*/false);
  const auto moved = folder_ / "moved";
  std::filesystem::rename(path_, moved);
  std::filesystem::create_directory(path_);
  log->Reopen();
  log->Write({.kind = Kind::kError, .message = "after"});
  log->Flush();
  EXPECT_EQ(log->dropped(), 0);
  EXPECT_EQ(Lines(moved).back()["message"], "after");
}

TEST_F(DecisionLogFolder, AFileThatIsRemovedIsMadeAnewWithoutACall) {
  auto log = Open(/*all=*/false);
  std::filesystem::remove(path_);
  log->Write({.kind = Kind::kError, .message = "after"});
  log->Flush();
  ASSERT_EQ(Lines(path_).size(), 1u);
  EXPECT_EQ(Lines(path_)[0]["message"], "after");
}

// The limit of this process stands for a disk that is full.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    EXPECT_EQ(getrlimit(RLIMIT_FSIZE, &usual_), 0);
    const rlimit small{bytes, usual_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &usual_);
    std::signal(SIGXFSZ, before_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  void (*const before_)(int) = std::signal(SIGXFSZ, SIG_IGN);
  rlimit usual_{};
};

TEST_F(DecisionLogFile, AFileThatTakesNoLinesIsToldOnceUntilItTakesSomeAgain) {
  auto made = DecisionLog::Open({.path = path_.string(), .keep_recent = 10});
  ASSERT_TRUE(made.ok()) << made.status();
  DecisionLog& log = **made;
  const auto write = [&log](int lines) {
    for (int i = 0; i < lines; ++i) {
      log.Write({.kind = Kind::kError, .message = "line"});
      log.Flush();
    }
  };
  const CaughtStderr caught;
  for (int64_t times = 1; times <= 2; ++times) {
    {
      const FullDisk disk(std::filesystem::file_size(path_));
      write(3);
    }
    write(1);
    EXPECT_EQ(log.dropped(), 3 * times);
  }
  std::istringstream said(caught.Text());
  std::vector<std::string> messages;
  for (std::string line; std::getline(said, line);) messages.push_back(json::parse(line).value("message", ""));
  const std::string wanted = "cannot write " + path_.string() + ": File too large";
  EXPECT_THAT(messages, ::testing::ElementsAre(wanted, wanted));
  const auto recent = log.Recent();
  EXPECT_TRUE(
      std::any_of(recent.begin(), recent.end(), [&](const auto& seen) { return seen.entry.message == wanted; }));
}

TEST_F(DecisionLogFile, ALineThatWasCutStaysAloneWhenTheSameFileIsReopened) {
  auto log = Open(/*all=*/false);
  {
    const FullDisk disk(300);
    log->Write({.kind = Kind::kError, .message = std::string(500, 'x')});
    log->Flush();
  }
  log->Reopen();
  log->Write({.kind = Kind::kError, .message = "after"});
  log->Flush();
  std::ifstream file(path_);
  std::string cut;
  std::getline(file, cut);
  EXPECT_EQ(cut.size(), 300u);
  std::vector<std::string> messages;
  for (std::string line; std::getline(file, line);) messages.push_back(json::parse(line).value("message", ""));
  EXPECT_THAT(messages, ::testing::ElementsAre(::testing::HasSubstr("1 lines of the log are lost"), "after"));
}

}  // namespace
}  // namespace penstock
