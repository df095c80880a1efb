// Runs a fuzzer's entry point without a fuzzer: over its corpus, and over a few thousand seeded mutations of it. A file
// holds the input of the present run, for the case that the run does not come back: FUZZER FILE runs it again.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Bytes = std::vector<uint8_t>;

constexpr uint64_t kSeed = 20250101;
constexpr size_t kLongest = 1 << 16;

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

std::vector<Bytes> Corpus() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(PENSTOCK_CORPUS)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<Bytes> corpus;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return corpus;
}

void Feed(const Bytes& input) {
  static const std::string path = ::testing::TempDir() + PENSTOCK_FUZZER + ".input";
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(reinterpret_cast<const char*>(input.data()), static_cast<std::streamsize>(input.size()));
  LLVMFuzzerTestOneInput(input.data(), input.size());
}

class Mutator {
 public:
  Mutator(const std::vector<Bytes>& corpus, uint64_t seed) : corpus_(corpus), random_(seed) {}

  Bytes Next() {
    Bytes bytes = Any();
    for (uint64_t changes = 1 + Below(4); changes > 0; --changes) Change(bytes);
    if (bytes.size() > kLongest) bytes.resize(kLongest);
    return bytes;
  }

 private:
  uint64_t Below(uint64_t bound) { return bound == 0 ? 0 : random_() % bound; }
  const Bytes& Any() { return corpus_[Below(corpus_.size())]; }

  void Change(Bytes& bytes) {
    static constexpr uint8_t kTelling[] = {0,   0xff, '\n', '\r', '"', '\\', '{', '}',
                                           '[', ']',  ':',  ',',  ' ', '-',  '9', 0x80};
    const auto at = [&] { return bytes.begin() + static_cast<std::ptrdiff_t>(Below(bytes.size() + 1)); };
    const auto from = at();
    const auto to = from + static_cast<std::ptrdiff_t>(Below(static_cast<uint64_t>(bytes.end() - from) + 1));
    switch (Below(6)) {
      case 0:
        if (from != bytes.end()) *from ^= static_cast<uint8_t>(1u << Below(8));
        break;
      case 1:
        bytes.insert(from, kTelling[Below(std::size(kTelling))]);
        break;
      case 2:
        bytes.erase(from, std::min(to, from + 16));
        break;
      case 3: {
        const Bytes copy(from, std::min(to, from + 64));
        bytes.insert(at(), copy.begin(), copy.end());
        break;
      }
      case 4: {
        const Bytes& other = Any();
        const size_t begin = Below(other.size() + 1);
        const size_t end = begin + Below(other.size() - begin + 1);
        bytes.insert(from, other.begin() + static_cast<std::ptrdiff_t>(begin),
                     other.begin() + static_cast<std::ptrdiff_t>(end));
        break;
      }
      default:
        bytes.erase(from, bytes.end());
        break;
    }
  }

  const std::vector<Bytes>& corpus_;
  std::mt19937_64 random_;
};

TEST(Fuzz, TheCorpusKeepsEveryPromise) {
  const std::vector<Bytes> corpus = Corpus();
  ASSERT_FALSE(corpus.empty());
  for (const Bytes& input : corpus) Feed(input);
}

TEST(Fuzz, MutationsOfTheCorpusKeepEveryPromise) {
  const std::vector<Bytes> corpus = Corpus();
  ASSERT_FALSE(corpus.empty());
  Mutator mutator(corpus, FromEnvironment("PENSTOCK_MUTATION_SEED", kSeed));
  const uint64_t count = FromEnvironment("PENSTOCK_MUTATIONS", PENSTOCK_MUTATIONS);
  for (uint64_t i = 0; i < count; ++i) Feed(mutator.Next());
}

}  // namespace
