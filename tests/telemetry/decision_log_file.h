// The log in a file of its own, which goes with the test.
#ifndef PENSTOCK_TESTS_TELEMETRY_DECISION_LOG_FILE_H_
#define PENSTOCK_TESTS_TELEMETRY_DECISION_LOG_FILE_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "router/telemetry/log/decision_log.h"

namespace penstock {

class DecisionLogFile : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    path_ = std::filesystem::path(::testing::TempDir()) / (std::string("penstock-") + info->name() + ".log");
    std::filesystem::remove(path_);
  }
  void TearDown() override { std::filesystem::remove(path_); }

  std::unique_ptr<DecisionLog> Open(bool all, size_t max_queued = 1024) {
    auto log = DecisionLog::Open({.path = path_.string(), .all = all, .max_queued = max_queued});
    EXPECT_TRUE(log.ok()) << log.status();
    return log.ok() ? *std::move(log) : nullptr;
  }
  static std::vector<nlohmann::json> Lines(const std::filesystem::path& path) {
    std::ifstream file(path);
    std::vector<nlohmann::json> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(nlohmann::json::parse(line));
    return lines;
  }

  std::filesystem::path path_;
};

}  // namespace penstock

#endif  // PENSTOCK_TESTS_TELEMETRY_DECISION_LOG_FILE_H_
