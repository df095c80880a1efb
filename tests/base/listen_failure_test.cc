#include "base/listen_failure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

namespace penstock {
namespace {

using ::testing::HasSubstr;

TEST(ListenFailure, NamesAddressAndCauseAndTheUsualRemedy) {
  const std::string used = ListenFailure("127.0.0.1:80", "in use", EADDRINUSE);
  EXPECT_THAT(used, HasSubstr("cannot listen on 127.0.0.1:80: in use; another process listens there"));
  EXPECT_THAT(ListenFailure("[::]:80", "denied", EACCES), HasSubstr("CAP_NET_BIND_SERVICE"));
  EXPECT_THAT(ListenFailure("unix:/run/x.sock", "denied", EACCES), HasSubstr("its folder"));
  EXPECT_THAT(ListenFailure("10.0.0.1:80", "none", EADDRNOTAVAIL), HasSubstr("no such address"));
}

TEST(ListenFailure, OfAnotherCauseHasTheCauseOnly) {
  EXPECT_EQ(ListenFailure("a:1", "out of memory", ENOMEM), "cannot listen on a:1: out of memory");
}

}  // namespace
}  // namespace penstock
