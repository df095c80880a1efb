#include "base/harmless.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(Harmless, ControlsMarksOfDirectionLineEndsAndBrokenBytesBecomeQuestionMarks) {
  EXPECT_EQ(Harmless("a\x1b]0;title\x07z\x7f"), "a?]0;title?z?");
  EXPECT_EQ(Harmless("\u202etxt\u2028\u2066\u200b\ufeff\u0085\u061c"), "?txt??????");
  EXPECT_EQ(Harmless("cut \xe2\x80"), "cut ??");
}

TEST(Harmless, OtherTextStaysAsItIs) { EXPECT_EQ(Harmless("模型 é \U0001F600 %s\\n"), "模型 é \U0001F600 %s\\n"); }

TEST(Harmless, OnlySparedLineEndsStay) {
  EXPECT_EQ(Harmless("a\nb\tc\r"), "a?b?c?");
  EXPECT_EQ(Harmless("a\nb\tc\r", "\n\t"), "a\nb\tc?");
}

}  // namespace
}  // namespace penstock
