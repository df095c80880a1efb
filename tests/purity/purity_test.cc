// The model and the decision core read no clock, no file, no network and no random device: their sources include
// nothing that could. Time and events come in as arguments, so that equal logs give equal actions.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace fs = std::filesystem;

// A header that is not allowed: its whole name, or everything below a folder (a trailing slash).
constexpr std::string_view kForbidden[] = {
    "boost/",       "yaml-cpp/",    "nlohmann/",       "simdjson.h",     "simdjson/",        "prometheus/",
    "openssl/",     "CLI/",         "zlib.h",          "absl/time/",     "absl/random/",     "absl/synchronization/",
    "fstream",      "filesystem",   "thread",          "mutex",          "shared_mutex",     "condition_variable",
    "future",       "atomic",       "semaphore",       "latch",          "barrier",          "stop_token",
    "chrono",       "random",       "iostream",        "ctime",          "time.h",           "sys/",
    "unistd.h",     "netinet/",     "pthread.h",       "cstdio",         "stdio.h",          "coroutine",
    "execution",    "syncstream",   "config/",         "backends/",      "bench/",           "router/telemetry/",
    "router/http/", "router/live/", "router/session/", "router/openai/", "router/policies/", "app/",
    "base/clock.h",
};

// Names that would bring time or chance in without a header of their own.
constexpr std::string_view kForbiddenCalls[] = {"std::rand(", " rand(", "srand(", "time(nullptr)", "getenv("};

// The header of an #include line, or empty.
std::string IncludedHeader(const std::string& line) {
  const size_t hash = line.find_first_not_of(" \t");
  if (hash == std::string::npos || line[hash] != '#') return "";
  const size_t word = line.find_first_not_of(" \t", hash + 1);
  if (word == std::string::npos || line.compare(word, 7, "include") != 0) return "";
  const size_t open = line.find_first_of("<\"", word);
  const size_t close = open == std::string::npos ? open : line.find_first_of(">\"", open + 1);
  return close == std::string::npos ? "" : line.substr(open + 1, close - open - 1);
}

bool IsForbidden(const std::string& header) {
  return std::any_of(std::begin(kForbidden), std::end(kForbidden), [&](std::string_view name) {
    return name.back() == '/' ? header.compare(0, name.size(), name) == 0 : header == name;
  });
}

struct Source {
  std::string path;
  std::vector<std::string> lines;
};

std::vector<Source> SourcesOf(const std::string& folder) {
  std::vector<Source> sources;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(PENSTOCK_SOURCE_DIR) / folder)) {
    const std::string extension = entry.path().extension().string();
    if (extension != ".h" && extension != ".cc") continue;
    Source source{entry.path().string(), {}};
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) source.lines.push_back(line);
    sources.push_back(std::move(source));
  }
  return sources;
}

class Purity : public testing::TestWithParam<const char*> {};

TEST_P(Purity, NoSourceIncludesAnEdgeHeader) {
  const std::vector<Source> sources = SourcesOf(GetParam());
  ASSERT_GT(sources.size(), 4U) << "sources found";
  for (const Source& source : sources) {
    for (size_t i = 0; i < source.lines.size(); ++i) {
      const std::string header = IncludedHeader(source.lines[i]);
      EXPECT_FALSE(IsForbidden(header)) << source.path << ":" << i + 1 << " includes " << header;
    }
  }
}

TEST_P(Purity, NoSourceCallsForTimeOrChance) {
  for (const Source& source : SourcesOf(GetParam())) {
    for (size_t i = 0; i < source.lines.size(); ++i) {
      for (const std::string_view call : kForbiddenCalls) {
        EXPECT_EQ(source.lines[i].find(call), std::string::npos) << source.path << ":" << i + 1 << " calls " << call;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Folders, Purity, testing::Values("kvmodel", "router/core"),
                         [](const auto& folder) { return folder.index == 0 ? "KvModel" : "Core"; });

TEST(PurityOfTheModel, DoesNotKnowTheCore) {
  for (const Source& source : SourcesOf("kvmodel")) {
    for (const std::string& line : source.lines) {
      EXPECT_NE(IncludedHeader(line).substr(0, 7), "router/") << source.path << ": " << line;
    }
  }
}

TEST(PurityCheck, SeesWhatItForbids) {
  EXPECT_EQ(IncludedHeader("#include <boost/asio.hpp>"), "boost/asio.hpp");
  EXPECT_EQ(IncludedHeader("  # include \"config/config.h\""), "config/config.h");
  EXPECT_EQ(IncludedHeader("// #include <mutex>"), "");
  for (const char* header : {"boost/asio.hpp", "boost/beast/http.hpp", "yaml-cpp/yaml.h", "nlohmann/json.hpp",
                             "prometheus/registry.h", "fstream", "filesystem", "thread", "mutex", "chrono", "random"}) {
    EXPECT_TRUE(IsForbidden(header)) << header;
  }
  for (const char* header : {"absl/strings/string_view.h", "vector", "kvmodel/units.h", "router/core/event.h"}) {
    EXPECT_FALSE(IsForbidden(header)) << header;
  }
}

}  // namespace
