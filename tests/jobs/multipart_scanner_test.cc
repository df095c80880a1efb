// multipart/form-data, wherever its pieces end.
#include "router/multipart/multipart_scanner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using Event = MultipartScanner::Event;

// Each part as "name/filename/type=bytes", then "end", "cut" or the fault.
std::vector<std::string> Scan(absl::string_view body, size_t piece, absl::string_view boundary = "b") {
  MultipartScanner scanner(boundary);
  std::vector<std::string> parts;
  while (true) {
    switch (scanner.Next()) {
      case Event::kPart:
        parts.push_back(absl::StrCat(scanner.part().name, "/", scanner.part().filename.value_or("-"), "/",
                                     scanner.part().content_type, "="));
        break;
      case Event::kData:
        EXPECT_FALSE(scanner.data().empty());
        parts.back().append(scanner.data().data(), scanner.data().size());
        break;
      case Event::kPartEnd:
        break;
      case Event::kEnd:
        parts.emplace_back("end");
        return parts;
      case Event::kFailed:
        parts.emplace_back(scanner.fault());
        return parts;
      case Event::kNeedMore:
        if (body.empty()) {
          parts.emplace_back("cut");
          return parts;
        }
        scanner.Offer(body.substr(0, piece));
        body.remove_prefix(std::min(piece, body.size()));
        break;
    }
  }
}

std::string Part(absl::string_view disposition, absl::string_view bytes) {
  return absl::StrCat("--b\r\nContent-Disposition: form-data; ", disposition, "\r\n\r\n", bytes, "\r\n");
}

TEST(MultipartScanner, PartsAreTheSameWhereverThePiecesEnd) {
  const std::string body = absl::StrCat(
      Part("name=\"purpose\"", "batch"),
      "--b \t\r\ncontent-disposition:form-data;name=file; filename=\"a.jsonl\"\r\nContent-Type: text/plain\r\n\r\n",
      "\r\n{}\r\n--\r\r\n-\r\n--a\r\n\r\n--b--\r\nafter");
  for (size_t piece = 1; piece < body.size() + 1; ++piece) {
    EXPECT_THAT(Scan(body, piece),
                ElementsAre("purpose/-/=batch", "file/a.jsonl/text/plain=\r\n{}\r\n--\r\r\n-\r\n--a\r\n", "end"))
        << piece;
  }
}

TEST(MultipartScanner, EmptyPartsAndATextBeforeTheFirstAreFine) {
  const std::string body = absl::StrCat("preamble\r\n\r\n", Part("name=\"a\"", ""), Part("name=b", "\r\n"), "--b--");
  for (size_t piece = 1; piece < body.size() + 1; ++piece) {
    EXPECT_THAT(Scan(body, piece), ElementsAre("a/-/=", "b/-/=\r\n", "end")) << piece;
  }
  EXPECT_THAT(Scan("--b--", 1), ElementsAre("end"));
  EXPECT_THAT(Scan("--b\r\nContent-Disposition: form-data; name=a\r\n\r\n--b--", 1), ElementsAre("a/-/=", "end"))
      << "the line end of the head is that of the delimiter";
}

TEST(MultipartScanner, NamesOfFilesLoseTheirFoldersAndKeepTheirLetters) {
  EXPECT_EQ(Scan(Part(R"(name="f"; filename="C:\dir\a \"b\".txt")", ""), 9)[0], R"(f/a "b".txt/=)");
  EXPECT_EQ(Scan(Part(R"(name="f"; filename="../../etc/passwd")", ""), 9)[0], "f/passwd/=");
  EXPECT_EQ(Scan(Part(R"(name="f"; filename="x"; filename*=UTF-8''%c3%a9.txt)", ""), 9)[0], "f/\xC3\xA9.txt/=");
  EXPECT_EQ(Scan(Part(R"(name="f"; filename="x"; filename*=UTF-8''%zz)", ""), 9)[0], "f/x/=");
}

TEST(MultipartScanner, FaultsAreNamed) {
  EXPECT_THAT(Scan("--b\r\nContent-Type: text/plain\r\n\r\nx", 1), ElementsAre("a part has no name"));
  EXPECT_THAT(Scan("--b\r\n\r\nx", 1), ElementsAre("a part has no name"));
  EXPECT_THAT(Scan("--bx\r\n", 1), ElementsAre("a boundary is followed by other text"));
  EXPECT_THAT(Scan("--b\rx", 1), ElementsAre("a line ends without a line feed"));
  EXPECT_THAT(Scan("--b\r\n" + std::string(10'000, 'h'), 999), ElementsAre("the head of a part is too long"));
  EXPECT_THAT(Scan(std::string(10'000, 'p'), 999), ElementsAre("the boundary does not begin the body"));
  std::string many;
  for (int i = 0; i <= MultipartScanner::kMaxParts; ++i) absl::StrAppend(&many, Part("name=a", ""));
  EXPECT_EQ(Scan(many, 999).back(), "there are too many parts");
}

TEST(MultipartScanner, ABodyThatEndsEarlyIsCut) {
  EXPECT_THAT(Scan(Part("name=a", "bytes"), 7), ElementsAre("a/-/=bytes", "cut"));
  EXPECT_THAT(Scan("", 7), ElementsAre("cut"));
}

TEST(MultipartScanner, TheBoundaryIsAParameterOfTheContentType) {
  EXPECT_EQ(MultipartScanner::BoundaryOf("multipart/form-data; boundary=abc"), "abc");
  EXPECT_EQ(MultipartScanner::BoundaryOf("Multipart/Form-Data; charset=utf-8; Boundary=\"a b;c\""), "a b;c");
  EXPECT_EQ(MultipartScanner::BoundaryOf("multipart/form-data"), std::nullopt);
  EXPECT_EQ(MultipartScanner::BoundaryOf("multipart/form-data; boundary="), std::nullopt);
  EXPECT_EQ(MultipartScanner::BoundaryOf("multipart/mixed; boundary=abc"), std::nullopt);
  EXPECT_EQ(MultipartScanner::BoundaryOf("application/json"), std::nullopt);
  EXPECT_EQ(MultipartScanner::BoundaryOf("multipart/form-data; boundary=" + std::string(71, 'x')), std::nullopt);
}

}  // namespace
}  // namespace penstock
