// The form of an upload: its fields and the bytes of its file. Pure.
//
//   UploadForm form(boundary);
//   form.Take(piece, &bytes_of_file)    for each piece of the body; an error ends the upload
//   form.Finish()                       after the last piece
//
// Fields may come in any order, also behind the file. Memory: fields of at most some KiB.
#ifndef PENSTOCK_ROUTER_JOBS_API_UPLOAD_FORM_H_
#define PENSTOCK_ROUTER_JOBS_API_UPLOAD_FORM_H_

#include <map>
#include <optional>
#include <string>
#include <variant>

#include "absl/strings/string_view.h"
#include "router/jobs/store/file_table.h"
#include "router/multipart/multipart_scanner.h"
#include "router/openai/error/api_error.h"

namespace penstock::jobs {

class UploadForm {
 public:
  static constexpr size_t kMaxField = 4 << 10;
  static constexpr size_t kMaxFilename = 255;

  explicit UploadForm(absl::string_view boundary) : scanner_(boundary) {}

  // Appends the file's bytes in `piece` to `bytes`.
  std::optional<ApiError> Take(absl::string_view piece, std::string* bytes);
  std::variant<FileFacts, ApiError> Finish() const;

 private:
  std::optional<ApiError> BeginPart();
  std::optional<ApiError> TakeData(std::string* bytes);
  std::variant<std::optional<Duration>, ApiError> ReadExpiry() const;

  MultipartScanner scanner_;
  std::map<std::string, std::string> fields_;
  std::optional<std::string> filename_;
  size_t file_bytes_ = 0;
  bool in_file_ = false;
  bool ended_ = false;
};

}  // namespace penstock::jobs

#endif  // PENSTOCK_ROUTER_JOBS_API_UPLOAD_FORM_H_
