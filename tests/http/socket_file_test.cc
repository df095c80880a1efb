#include "router/http/socket/socket_file.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace penstock {
namespace {

namespace fs = std::filesystem;

class SocketFileTest : public testing::Test {
 protected:
  SocketFileTest() {
    std::string name = (fs::temp_directory_path() / "penstock-socket-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    path_ = (folder_ / "p.sock").string();
  }
  ~SocketFileTest() override { fs::remove_all(folder_); }

  static int Socket() { return ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); }
  // A listener at the path, with the way made for it.
  int Listen() {
    const int socket = Socket();
    EXPECT_TRUE(SocketFile::MakeWay(path_, socket).ok());
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof(address.sun_path) - 1);
    EXPECT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(::listen(socket, 1), 0);
    return socket;
  }
  mode_t Mode() const {
    struct stat found {};
    EXPECT_EQ(::lstat(path_.c_str(), &found), 0);
    return found.st_mode & 0777;
  }
  absl::Status MakeWay() const {
    const int socket = Socket();
    absl::Status way = SocketFile::MakeWay(path_, socket);
    ::close(socket);
    return way;
  }

  fs::path folder_;
  std::string path_;
};

TEST_F(SocketFileTest, TheGroupMayConnectOnceTheFileIsTakenAndOthersNever) {
  const mode_t before = ::umask(0);
  const int socket = Listen();
  EXPECT_EQ(Mode(), mode_t{0600});
  SocketFile file;
  ::umask(077);
  EXPECT_TRUE(file.Take(path_).ok());
  EXPECT_EQ(Mode(), mode_t{0660});
  ::umask(before);
  ::close(socket);
}

TEST_F(SocketFileTest, TheSocketOfADeadListenerIsReplacedAndThatOfALiveOneIsNot) {
  const int socket = Listen();
  EXPECT_EQ(MakeWay().message(), "cannot listen on unix:" + path_ + ": another process listens there");
  ::close(socket);
  EXPECT_TRUE(fs::exists(path_));
  EXPECT_TRUE(MakeWay().ok());
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(SocketFileTest, AnythingButASocketStays) {
  std::ofstream(path_) << "data";
  EXPECT_EQ(MakeWay().message(), "cannot listen on unix:" + path_ + ": the file is no socket");
  EXPECT_TRUE(fs::exists(path_));
  path_ = (folder_ / "none" / "p.sock").string();
  EXPECT_TRUE(MakeWay().ok()) << "the bind names a missing folder";
}

TEST_F(SocketFileTest, TheFileGoesWithItsOwnerButAnothersStays) {
  const int first = Listen();
  {
    SocketFile file;
    ASSERT_TRUE(file.Take(path_).ok());
    ::close(first);
  }
  EXPECT_FALSE(fs::exists(path_));
  const int second = Listen();
  SocketFile old;
  ASSERT_TRUE(old.Take(path_).ok());
  ::close(second);
  const int third = Listen();
  old.Remove();
  EXPECT_TRUE(fs::exists(path_));
  ::close(third);
}

}  // namespace
}  // namespace penstock
