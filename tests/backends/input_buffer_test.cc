#include "backends/transport/input_buffer.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>
#include <string>

namespace penstock {
namespace {

// The buffer of the thread: every read overwrites it.
class ThreadBuffer {
 public:
  absl::string_view Read(const std::string& bytes) {
    memory_.fill('#');
    std::memcpy(memory_.data(), bytes.data(), bytes.size());
    return absl::string_view(memory_.data(), bytes.size());
  }

 private:
  std::array<char, 4096> memory_{};
};

TEST(InputBuffer, AWholeReadIsAViewOfTheThreadBuffer) {
  ThreadBuffer thread;
  InputBuffer input;
  const absl::string_view read = thread.Read("answer");
  input.Append(read);
  EXPECT_EQ(input.view().data(), read.data());
  input.Consume(6);
  EXPECT_TRUE(input.view().empty());
}

TEST(InputBuffer, TheRestOfAParseSurvivesTheNextRead) {
  ThreadBuffer thread;
  InputBuffer input;
  input.Append(thread.Read("done,rest"));
  input.Consume(5);
  thread.Read("another connection");
  EXPECT_EQ(input.view(), "rest");
  input.Append(thread.Read("+more"));
  EXPECT_EQ(input.view(), "rest+more");
}

TEST(InputBuffer, GivesTheBytesInOrderHoweverTheyAreReadAndConsumed) {
  std::mt19937 random(3);
  ThreadBuffer thread;
  InputBuffer input;
  std::string fed, taken;
  for (int i = 0; i < 3000; ++i) {
    std::string piece(random() % 2000, '\0');
    for (char& c : piece) c = static_cast<char>('a' + random() % 26);
    fed += piece;
    input.Append(thread.Read(piece));
    // A parse always ends with Consume(), also when it takes no byte.
    const size_t count = random() % 4 == 0 ? input.view().size() : random() % (input.view().size() + 1);
    taken += std::string(input.view().substr(0, count));
    input.Consume(count);
    if (input.view().size() > 50'000) {
      taken += std::string(input.view());
      input.Consume(input.view().size());
    }
  }
  taken += std::string(input.view());
  EXPECT_EQ(taken, fed);
}

}  // namespace
}  // namespace penstock
